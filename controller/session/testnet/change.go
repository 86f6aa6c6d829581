package testnet

import (
	"fmt"

	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/link"
)

// Changed returns conditions after a change by a step.
func Changed(c link.Conditions, l suite.Link) (link.Conditions, error) {
	if l.Profile != "" {
		p, ok := link.ProfileNamed(l.Profile)
		if !ok {
			return c, fmt.Errorf("unknown network %q", l.Profile)
		}
		c = p.Conditions
	}
	if l.RTT > 0 {
		c.SetRTT(l.RTT)
	}
	if l.Down > 0 {
		c.Down.Rate, c.Down.Trace = link.Rate(l.Down), nil
	}
	if l.Up > 0 {
		c.Up.Rate, c.Up.Trace = link.Rate(l.Up), nil
	}
	if l.Loss != nil {
		c.Down.Loss, c.Up.Loss = float64(*l.Loss)/100, float64(*l.Loss)/100
	}
	return c, c.Check()
}
