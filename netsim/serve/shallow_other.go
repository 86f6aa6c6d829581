//go:build !linux && !darwin

package serve

// shallow is of systems that can tell what waits to be sent from what is on its way.
func (c *connection) shallow() {}
