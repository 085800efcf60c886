//go:build belay_static

package native

// #cgo pkg-config: belay-static
import "C"
