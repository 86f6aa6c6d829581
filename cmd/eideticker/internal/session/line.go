package session

import (
	"fmt"

	"github.com/eideticker/eideticker/cmd/eideticker/internal/testnet"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/link"
)

// mostChangesNoted is how often a run says that its test changed the line.
const mostChangesNoted = 4

// changeLine changes the line of a run at work as a step asks, and says what it is then; nil, where the run has none.
func (s *session) changeLine() func(suite.Line) (string, error) {
	if s.network == nil {
		return nil
	}
	changes := 0
	return func(l suite.Line) (string, error) {
		c, err := testnet.Changed(s.line, l)
		if err != nil {
			return "", err
		}
		if err := s.network.Set(c); err != nil {
			return "", fmt.Errorf("change the network: %w", err)
		}
		s.line = c
		text := conditionsText(c)
		if l.Profile != "" {
			text = l.Profile + ": " + text
		}
		s.log.Info("the network is another now", "conditions", text)
		switch changes++; {
		case changes < mostChangesNoted:
			s.note("the test changed the network: %s", text)
		case changes == mostChangesNoted:
			s.note("the test changed the network more often; the recording's events have all")
		}
		return text, nil
	}
}

// conditionsText is what a line is like, in few words.
func conditionsText(c link.Conditions) string {
	n := Network{}
	n.RTT.Asked, n.Down.Asked, n.Up.Asked, n.Loss.Asked = c.RTT(), c.Down.Rate, c.Up.Rate, (c.Down.Loss+c.Up.Loss)/2
	return n.String()
}
