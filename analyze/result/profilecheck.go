package result

import (
	"fmt"
	"slices"
)

// profile checks the activity of the device's processes. Traces of other programs are its sources.
func (c *checker) profile(p *Profile, windows int) {
	for _, l := range []struct {
		name      string
		have, max int
	}{
		{"traces", len(p.Traces), MaxTraces}, {"functions", len(p.Functions), MaxProfileFunctions},
		{"threads", len(p.Threads), MaxThreads}, {"late", len(p.Late), MaxLate}, {"tests", len(p.Tests), MaxTests},
		{"events", len(p.Events), MaxProfileEvents}, {"sockets", len(p.Sockets), maxSocketWaits},
		{"warnings", len(p.Warnings), MaxGaps}, {"claims", len(p.Claims), MaxClaims},
	} {
		c.require(l.have <= l.max, "%d %s, at most %d", l.have, l.name, l.max)
	}
	if c.err != nil {
		return
	}
	for i, t := range p.Traces {
		c.in(fmt.Sprintf("traces[%d]", i), func() {
			c.names("name, engine or way", t.Name, t.Engine, t.Way)
			c.text("why", t.Why, maxText)
			c.text("clock_text", t.Clock, maxText)
			c.counts("events, lost or clock_ns", t.Events, t.Lost, t.ClockNS)
			c.require(t.Unnamed >= 0 && t.Unnamed <= 1 && t.Cut >= 0 && t.Cut <= 1, "unnamed %g or cut %g", t.Unnamed,
				t.Cut)
		})
	}
	for i, f := range p.Functions {
		c.in(fmt.Sprintf("functions[%d]", i), func() {
			c.source(f.Name, f.File, f.Line, 0)
			c.name("module", f.Module)
			c.require(slices.Contains(profileLanguages, f.Language), "language is %.40q", f.Language)
			c.require(f.Calls >= -1, "calls is %d", f.Calls)
			c.counts("self_ns or total_ns", f.SelfNS, f.TotalNS)
		})
	}
	for i, t := range p.Threads {
		c.in(fmt.Sprintf("threads[%d]", i), func() {
			c.names("name", t.Name, t.ProcessName)
			c.counts("running_ns or step_ns", t.RunningNS, t.StepNS)
			c.require(len(t.Lane) <= maxLane, "%d steps, at most %d", len(t.Lane), maxLane)
			for _, share := range t.Lane {
				c.require(share <= 100, "a step of %d %%", share)
			}
		})
	}
	for i := range p.Late {
		c.in(fmt.Sprintf("late[%d]", i), func() { c.lateProfile(p, &p.Late[i], windows) })
	}
	c.counts("frames or left out", int64(p.LateFrames), int64(p.OtherFrames), p.EventsLeft)
	for i, t := range p.Tests {
		c.in(fmt.Sprintf("tests[%d]", i), func() {
			c.index("function", t.Function, -1, len(p.Functions))
			c.counts("a time or count", t.LateNS, t.LowNS, t.HighNS, t.OtherNS, t.FrameNS, int64(t.Frames))
			c.require(t.P >= 0 && t.P <= 1, "p is %g", t.P)
			c.require(t.LowNS <= t.LateNS && t.LateNS <= t.HighNS, "late_ns is outside of its bounds")
		})
	}
	for i, e := range p.Events {
		c.in(fmt.Sprintf("events[%d]", i), func() {
			c.names("kind or name", e.Kind, e.Name)
			c.index("thread", e.Thread, -1, len(p.Threads))
			c.require(e.EarliestNS <= e.LatestNS, "latest_ns is before earliest_ns")
			c.counts("duration_ns", e.DurationNS)
			c.index("frame", e.Frame, -1, c.frames)
		})
	}
	for i, s := range p.Sockets {
		c.in(fmt.Sprintf("sockets[%d]", i), func() {
			c.index("thread", s.Thread, -1, len(p.Threads))
			c.name("call", s.Call)
			c.text("request", s.Request, maxText)
			c.ordered(s.BeginNS, s.EndNS)
			c.counts("bytes or woken_ns", s.Bytes, s.WokenNS)
			if s.WokenNS > 0 {
				c.index("woken_thread", s.WokenThread, -1, len(p.Threads))
			}
		})
	}
	for i, f := range p.Claims {
		c.in(fmt.Sprintf("claims[%d]", i), func() {
			c.name("trace", f.Trace)
			c.index("window", f.Window, 0, windows)
			c.require(f.By == "" || f.By == ByStrip || f.By == ByOrder, "by is %.40q", f.By)
			c.counts("frames, jank or late", int64(f.Frames), int64(f.Matched), int64(f.Jank), int64(f.Harmless),
				int64(f.Late), int64(f.CalledGood))
			d := f.Delay
			c.require(d.Low <= d.Value && d.Value <= d.High, "delay_ns is outside of its bounds")
			c.require(len(f.GoodFrames) <= MaxLate, "%d good frames, at most %d", len(f.GoodFrames), MaxLate)
			for _, n := range f.GoodFrames {
				c.index("good_frames", n, 0, c.frames)
			}
		})
	}
	c.texts("warnings", p.Warnings)
}

func (c *checker) names(what string, all ...string) {
	for _, s := range all {
		c.name(what, s)
	}
}

func (c *checker) lateProfile(p *Profile, l *ProfileLate, windows int) {
	c.index("window", l.Window, 0, windows)
	c.index("frame", l.Frame, 0, c.frames)
	c.ordered(l.FromNS, l.ToNS)
	c.require(len(l.Threads) <= MaxLateThreads, "%d threads, at most %d", len(l.Threads), MaxLateThreads)
	c.require(len(l.Lost) <= MaxLateThreads, "%d gaps, at most %d", len(l.Lost), MaxLateThreads)
	c.texts("lost", l.Lost)
	for i := range l.Threads[:min(len(l.Threads), MaxLateThreads)] {
		a := &l.Threads[i]
		c.index("thread", a.Thread, 0, len(p.Threads))
		c.index("function", a.Function, -1, len(p.Functions))
		c.span("running_ns", a.Running)
		c.span("runnable_ns", a.Runnable)
		c.span("waiting_ns", a.Waiting)
		c.span("function_ns", a.FunctionNS)
		c.nodes(p, a.Tree, 1)
		c.require(len(a.Waits) <= MaxWaits, "%d waits, at most %d", len(a.Waits), MaxWaits)
		for _, w := range a.Waits[:min(len(a.Waits), MaxWaits)] {
			c.ordered(w.BeginNS, w.EndNS)
			c.index("woken_by", w.WokenBy, -1, len(p.Threads))
			c.require(len(w.Functions) <= MaxWaitStack, "%d functions wait, at most %d", len(w.Functions),
				MaxWaitStack)
			for _, f := range w.Functions[:min(len(w.Functions), MaxWaitStack)] {
				c.index("function", f, -1, len(p.Functions))
			}
		}
	}
}

func (c *checker) nodes(p *Profile, all []ProfileNode, depth int) {
	c.require(len(all) <= MaxTree && (depth <= MaxTreeDepth || len(all) == 0), "%d functions at depth %d of a tree",
		len(all), depth)
	if c.err != nil {
		return
	}
	for i := range all {
		n := &all[i]
		c.index("function", n.Function, -1, len(p.Functions))
		c.counts("ns or samples", n.NS, n.LowNS, n.HighNS, n.Samples)
		c.require(n.LowNS <= n.NS && n.NS <= n.HighNS, "ns is outside of its bounds")
		c.nodes(p, n.Callers, depth+1)
	}
}
