//go:build !cgo

package native

var _ = Belay_needs_cgo__install_a_C_compiler_pkg_config_and_libbelay_and_set_CGO_ENABLED_1
