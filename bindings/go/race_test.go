//go:build race

package belay

// The race detector keeps memory of its own, more each time: the tests measure none then.
func init() { raceDetector = true }
