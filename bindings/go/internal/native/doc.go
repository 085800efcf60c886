// Package native is the generated wrapper of the C library. It is private: use package belay.
package native

// The wrapper is made for systems of 64 bits: on others this does not compile.
const _ = ^uint(0)>>63 - 1
