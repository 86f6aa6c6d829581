package demo

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/session/testnet"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/link"
)

// profiles are the links of the load test.
func profiles() []string { return []string{"cable", "3g"} }

const loadTest = "load"

// overLinks returns the load test once per link.
func overLinks(tests []*suite.Test) (over []*suite.Test) {
	i := slices.IndexFunc(tests, func(t *suite.Test) bool { return t.Name == loadTest })
	if i < 0 {
		return nil
	}
	for _, profile := range profiles() {
		t := *tests[i]
		t.Name += "-" + profile
		t.About += ", over " + profile
		t.Network = suite.Network{Profile: profile}
		over = append(over, &t)
	}
	return over
}

// tryLink returns an error if this machine cannot make a link.
func tryLink() error {
	n, err := testnet.Open(testnet.Options{})
	if err != nil {
		return err
	}
	return n.Close()
}

// addLinks adds tests over links, or a note that there are none.
func (d *demo) addLinks() {
	err := d.TryLink()
	if err == nil {
		d.Tests = append(d.Tests, overLinks(d.Tests)...)
		return
	}
	note := fmt.Sprintf("%s is not loaded over %s", loadTest, strings.Join(profiles(), " and "))
	var privilege *link.PrivilegeError
	if errors.As(err, &privilege) || errors.Is(err, errors.ErrUnsupported) {
		note += ", because this user may not make links"
	}
	d.summary.before = append(d.summary.before, fmt.Sprintf("%s: %v", note, err))
}

// Network is the network of a run, with the times of its page.
type Network struct {
	*session.Network
	FirstChangeNS *Time  `json:"first_change_ns"` // since the navigation; null: not measured
	LastChangeNS  *Time  `json:"last_change_ns"`
	Waterfall     string `json:"waterfall,omitempty"` // a drawing
	HAR           string `json:"har,omitempty"`
}

// linkTries is the number of tries for a link. A busy machine may miss its figures.
const linkTries = 3

// linkOff reports whether a run failed because its link missed its figures.
func linkOff(state session.State, reason string) bool {
	return state == session.Failed && strings.HasPrefix(reason, session.NotAsAsked)
}

// Time is a time with bounds.
type Time struct {
	Value int64 `json:"value"`
	Low   int64 `json:"low"`
	High  int64 `json:"high"`
}

func newNetwork(dir string, m *session.Made) *Network {
	if m.Record.Network == nil {
		return nil
	}
	n := &Network{Network: m.Record.Network,
		Waterfall: ifThere(dir, filepath.Join(runfolder.PicturesDir, "waterfall.svg")),
		HAR:       ifThere(dir, session.HARFile)}
	if m.Found == nil || len(m.Found.Results.Windows) == 0 {
		return n
	}
	for i := range m.Found.Results.Windows[0].Results {
		r := &m.Found.Results.Windows[0].Results[i]
		if r.Measure != "speedindex" {
			continue
		}
		n.FirstChangeNS, n.LastChangeNS = timeOf(r, "first_visual_change"), timeOf(r, "last_visual_change")
	}
	return n
}

// timeOf returns a value in ms as a time.
func timeOf(r *analyze.Result, name string) *Time {
	v, ok := r.Find(name)
	if !ok || v.State == analyze.Refused {
		return nil
	}
	ns := func(ms float64) int64 { return int64(ms * 1e6) }
	return &Time{ns(v.Value), ns(v.Low), ns(v.High)}
}
