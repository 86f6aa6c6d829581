package scripts

import (
	"github.com/eideticker/eideticker/analyze/trace"
	"github.com/eideticker/eideticker/netsim/instrument/plan"
	"github.com/eideticker/eideticker/netsim/instrument/record"
)

// Load returns what a run measured, for its plan.
func (r *Run) Load(plain bool) plan.Load {
	l := plan.Load{Plain: plain, Calls: map[string]map[uint32]plan.Calls{}}
	for _, of := range r.Info.Programs {
		one := plan.Served{URL: of.URL, Hash: of.Hash}
		for _, f := range of.Functions {
			if f.counts() {
				one.Starts = append(one.Starts, f.Start)
			}
		}
		l.Programs = append(l.Programs, one)
	}
	for number, of := range r.Trace.Samples(plan.MostSamples) {
		program, f := r.Function(number)
		if f == nil || !f.counts() {
			continue // the run of an unknown function has a warning
		}
		if l.Calls[program.Hash] == nil {
			l.Calls[program.Hash] = map[uint32]plan.Calls{}
		}
		l.Calls[program.Hash][f.Start] = callsOf(of)
	}
	return l
}

// longTask is the time in ns that a task may last without being long.
const longTask = 50e6

// Past returns what the effect of a run's insertions is judged by.
func (r *Run) Past(plain bool) plan.Past {
	p := plan.Past{Plain: plain}
	for _, of := range r.Trace.Realms {
		if of.Kind == record.Window && p.LoadMS == 0 {
			p.LoadMS = min(max(0, float64(of.Loaded)/1e6), maxMS)
		}
		for _, task := range of.LongTasks {
			p.BlockedMS = min(p.BlockedMS+max(0, float64(task.Duration)-longTask)/1e6, maxMS)
		}
		for _, e := range of.Events {
			if failure(e.Detail.Kind) {
				p.Errors++
			}
		}
	}
	return p
}

// Costs returns the extent of the insertions of each policy.
func (r *Run) Costs() (all []plan.Cost) {
	events, values := int64(0), map[string]int64{}
	calls, functions, points := int64(0), 0, map[string]int{}
	for _, of := range r.Trace.Realms {
		calls += int64(len(of.Calls))
		events += int64(len(of.Events))
		for _, v := range of.Values {
			if _, at := r.Point(v.Point); at != nil {
				values[at.Policy]++
			}
		}
	}
	for _, p := range r.Info.Programs {
		functions += len(p.Functions)
		for _, at := range p.Points {
			if !at.Off {
				points[at.Policy]++
			}
		}
	}
	for _, name := range r.Info.Policies {
		c := plan.Cost{Policy: name, Records: values[name], Places: points[name]}
		switch name {
		case "calls":
			c.Records, c.Places = 2*calls, functions
		case "errors":
			c.Records = events
		}
		all = append(all, c)
	}
	return all
}

// maxMS limits the times that a page claims.
const maxMS = 1e9

func callsOf(s *trace.Sample) plan.Calls {
	c := plan.Calls{Count: s.Calls, TimeMS: float64(s.Total) / 1e6}
	for _, ns := range s.First {
		c.Samples = append(c.Samples, float64(ns)/1e6)
	}
	return c
}
