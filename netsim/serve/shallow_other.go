//go:build !linux && !darwin

package serve

// shallow is for systems that distinguish data waiting to be sent from data on its way.
func (c *connection) shallow() {}
