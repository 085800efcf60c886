//go:build !cgo

package native

// A build without cgo ends with this sentence: it has no other errors.
const _ int = "belay needs cgo: install a C compiler and set CGO_ENABLED=1"
