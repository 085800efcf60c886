//go:build !belay_static

package native

// #cgo pkg-config: belay
import "C"
