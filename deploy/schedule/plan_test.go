package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
)

// TestLateBuilds: an index lists builds after newer ones. They are run, or are gaps if the newest
// is preferred. Numbers from before the first look stay unknown.
//
// Fault: A build comes to its feed after a newer one
func TestLateBuilds(t *testing.T) {
	for coalesce, want := range map[string]string{
		"none":   "[b1020 b1019 b1018 b1023 b1022 b1030 b1021] map[]",
		"newest": "[b1020 b1023 b1030] map[//b1021:a newer build came first //b1022:a newer build came first]",
	} {
		w := newWorld(t, 1, func(o *Options) {
			s := o.Schedules["nightly"]
			s.Coalesce = coalesce
			o.Schedules["nightly"] = s
		})
		e := w.engine()
		list := func(all ...int64) {
			for _, seq := range all {
				w.build(seq)
			}
			slices.SortFunc(w.builds, func(a, b api.Build) int { return cmp.Compare(a.Seq, b.Seq) })
			w.settle(e)
			e = w.engine()
			w.settle(e)
		}
		list(18, 19, 20)
		list(23)
		list(22, 3)
		list(30, 21)
		list(5, 6, 7)
		list()
		var ran []string
		for _, id := range w.order {
			ran = append(ran, w.params[id].Revision)
		}
		if got := fmt.Sprint(ran, w.gaps); got != want {
			t.Errorf("%s: %s, want %s", coalesce, got, want)
		}
	}
}

// TestManyLateBuilds: an index adds its history. The newest of them are run, the others are gaps.
func TestManyLateBuilds(t *testing.T) {
	w := newWorld(t, 1, func(o *Options) {
		s := o.Schedules["nightly"]
		s.Coalesce = "none"
		o.Schedules["nightly"] = s
	})
	e := w.engine()
	w.build(1)
	w.build(1000)
	w.settle(e)
	had := len(w.order)
	for seq := range int64(maxFirst + 7) {
		w.build(100 + seq)
	}
	slices.SortFunc(w.builds, func(a, b api.Build) int { return cmp.Compare(a.Seq, b.Seq) })
	w.settle(e)
	if ran := len(w.order) - had; ran != maxFirst || len(w.gaps) != 7 || w.gaps["//b1106"] == "" {
		t.Errorf("%d late builds are run, want %d; gaps: %v", ran, maxFirst, w.gaps)
	}
}

// TestRivalsOfAFeed: a rival of the subject's feed runs the subject's build, also an older one. A
// pinned build stays.
func TestRivalsOfAFeed(t *testing.T) {
	w := newWorld(t, 1, func(o *Options) {
		s := o.Schedules["nightly"]
		s.Coalesce, s.Browsers, s.Control = "none", []string{"firefox@f", "chromium@f", "edge@f:b1001"}, ""
		o.Schedules["nightly"] = s
	})
	e := w.engine()
	for seq := range int64(3) {
		w.build(1 + seq)
	}
	w.settle(e)
	for _, id := range w.order {
		p := w.params[id]
		var got []string
		for _, v := range p.Variants {
			got = append(got, v.Browser)
		}
		want := []string{"firefox@f:" + p.Revision, "chromium@f:" + p.Revision, "edge@f:b1001"}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if len(w.order) != 3 {
		t.Errorf("%d jobs", len(w.order))
	}
	at := e.Schedules["nightly"] // at a time, of a pinned build
	at.Browsers = []string{"firefox@f:b1002", "chromium@f"}
	tasks, err := e.tasks(t.Context(), "nightly", at, nil, 1, "")
	if err != nil || tasks[0].Variants[1].Browser != "chromium@f:b1002" {
		t.Errorf("%+v, %v", tasks, err)
	}
}
