package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/session/testnet"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/link"
)

// demoLines are what the page that loads is loaded over, one after the other, where this machine
// lets a line be made.
func demoLines() []string { return []string{"cable", "3g"} }

// demoLoad is the test of that page.
const demoLoad = "load"

// overLines are the tests of the demo's own choice over lines.
func overLines(tests []*suite.Test) (over []*suite.Test) {
	i := slices.IndexFunc(tests, func(t *suite.Test) bool { return t.Name == demoLoad })
	if i < 0 {
		return nil
	}
	for _, profile := range demoLines() {
		t := *tests[i]
		t.Name += "-" + profile
		t.About += ", over " + profile
		t.Network = suite.Network{Profile: profile}
		over = append(over, &t)
	}
	return over
}

// tryLine says why no line can be made here.
func tryLine() error {
	n, err := testnet.Open(testnet.Options{})
	if err != nil {
		return err
	}
	return n.Close()
}

// addLines adds tests over lines, or says why there are none.
func (d *demo) addLines() {
	err := d.tryLine()
	var privilege *link.PrivilegeError
	switch {
	case err == nil:
		d.tests = append(d.tests, overLines(d.tests)...)
	case errors.As(err, &privilege), errors.Is(err, errors.ErrUnsupported):
		d.summary.before = append(d.summary.before,
			fmt.Sprintf("%s is not loaded over %s, since this takes more than this user may do: %v", demoLoad,
				strings.Join(demoLines(), " and "), err))
	default:
		d.summary.before = append(d.summary.before, fmt.Sprintf("%s is not loaded over %s: %v", demoLoad,
			strings.Join(demoLines(), " and "), err))
	}
}

// demoNetwork is what a page was loaded over, and what came of it.
type demoNetwork struct {
	*session.Network
	FirstChangeNS *demoTime `json:"first_change_ns"` // from the command to go there; null: not measured
	LastChangeNS  *demoTime `json:"last_change_ns"`
	Waterfall     string    `json:"waterfall,omitempty"` // under filmstrip and load curve, on one axis
	HAR           string    `json:"har,omitempty"`
}

// lineTries is how often a line is asked for: a machine that is busy with something else is no line
// of anybody's choice.
const lineTries = 3

// lineOff reports whether a run was not made since its line was not as it was asked for: that says
// something about this machine, and nothing about what is shown here.
func lineOff(state session.State, reason string) bool {
	return state == session.Failed && strings.HasPrefix(reason, session.NotAsAsked)
}

// demoTime is a time and between what it lies.
type demoTime struct {
	Value int64 `json:"value"`
	Low   int64 `json:"low"`
	High  int64 `json:"high"`
}

func newDemoNetwork(dir string, m *session.Made) *demoNetwork {
	if m.Record.Network == nil {
		return nil
	}
	n := &demoNetwork{Network: m.Record.Network,
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

// timeOf is a value in ms.
func timeOf(r *analyze.Result, name string) *demoTime {
	v, ok := r.Find(name)
	if !ok || v.State == analyze.Refused {
		return nil
	}
	ns := func(ms float64) int64 { return int64(ms * 1e6) }
	return &demoTime{ns(v.Value), ns(v.Low), ns(v.High)}
}

// text is in ms.
func (t *demoTime) text() string {
	if t == nil {
		return ""
	}
	ms := func(ns int64) float64 { return float64(ns) / 1e6 }
	return spanText(result.Span{Value: ms(t.Value), Low: ms(t.Low), High: ms(t.High)}) + " ms"
}

func rateText(r link.Rate) string {
	if r == 0 {
		return "unlimited"
	}
	return fmt.Sprintf("%.2f Mbit/s", float64(r)/float64(link.Mbit))
}

// printNetworks tells what the page was loaded over: as it was found, and what was seen of it when.
func (s *demoSummary) printNetworks(w io.Writer) error {
	rows, falls := [][]string{}, ""
	for _, p := range s.Pages {
		n := p.Network
		if n == nil || p.State == session.Failed {
			continue
		}
		rows = append(rows, []string{
			p.Name, fmt.Sprintf("%.1f ms", float64(n.RTT.Got)/float64(time.Millisecond)), rateText(n.Down.Got),
			countText(n.Requests), bytesText(int64(n.BytesDown)), n.FirstChangeNS.text(), n.LastChangeNS.text(),
		})
		falls += fmt.Sprintf("  %s\n", firstOf(n.Waterfall, n.HAR))
	}
	if len(rows) == 0 {
		return nil
	}
	if err := printTable(w, []string{"OVER A LINE", ">RTT", ">DOWN", ">REQUESTS", ">RECEIVED", ">FIRST SEEN",
		">LAST CHANGE"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "Waterfall, filmstrip and load curve on one axis, which the reports show too:\n%s\n",
		falls)
	return err
}
