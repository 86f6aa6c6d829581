package profile

import (
	"cmp"
	"io"
	"slices"

	pprof "github.com/google/pprof/profile"

	"github.com/eideticker/eideticker/analyze/trace"
)

// PProf writes the calls of all realms for the program pprof: calls and self times by stack. The
// outermost entry of a stack is the realm.
func PProf(w io.Writer, t *trace.Trace, names Names) error {
	lasted := int64(0)
	for _, r := range t.Realms {
		lasted = max(lasted, r.End-r.Begin)
	}
	f := realms(t)
	labels := make([]Labels, len(f.Trees))
	for i, r := range t.Realms {
		labels[i] = Labels{Top: &Function{Name: f.Trees[i].Name, URL: r.URL}}
	}
	return f.PProf(w, lasted, labels, names)
}

// Labels are those of a tree's samples. Top is the outermost entry of its stacks; nil: none.
type Labels struct {
	Top     *Function
	Text    map[string][]string
	Numbers map[string][]int64
}

// PProf writes trees for the program pprof, each with its labels.
func (f *Forest) PProf(w io.Writer, lasted int64, labels []Labels, names Names) error {
	counts := "calls"
	if slices.ContainsFunc(f.Trees, func(t *Tree) bool { return t.Unit == "sample" }) {
		counts = "samples"
	}
	p := &pprof.Profile{
		DurationNanos: lasted,
		SampleType:    []*pprof.ValueType{{Type: counts, Unit: "count"}, {Type: "time", Unit: "nanoseconds"}},
		PeriodType:    &pprof.ValueType{Type: "time", Unit: "nanoseconds"}, Period: 1, DefaultSampleType: "time",
		Mapping: []*pprof.Mapping{{ID: 1, File: "scripts", HasFunctions: true, HasFilenames: true,
			HasLineNumbers: true}},
	}
	location := func(f Function) *pprof.Location {
		id := uint64(len(p.Location) + 1)
		of := &pprof.Function{ID: id, Name: f.label(), SystemName: f.label(), Filename: clean(cmp.Or(f.URL, f.Module)),
			StartLine: int64(f.Line)}
		l := &pprof.Location{ID: id, Mapping: p.Mapping[0], Line: []pprof.Line{{Function: of, Line: int64(f.Line)}}}
		p.Function, p.Location = append(p.Function, of), append(p.Location, l)
		return l
	}
	known := map[uint32]*pprof.Location{}
	for k, t := range f.Trees {
		nodes := t.nodes
		var top *pprof.Location
		if labels[k].Top != nil {
			top = location(*labels[k].Top)
		}
		for i := range nodes {
			n := &nodes[i]
			if i == root || n.calls == 0 && n.self == 0 {
				continue
			}
			s := &pprof.Sample{Label: labels[k].Text, NumLabel: labels[k].Numbers,
				Value: []int64{n.calls, n.self}, Location: make([]*pprof.Location, 0, n.depth+1)}
			for at := int32(i); at != root; at = nodes[at].parent {
				function := nodes[at].function
				if known[function] == nil {
					known[function] = location(names.bounded(function))
				}
				s.Location = append(s.Location, known[function])
			}
			if top != nil {
				s.Location = append(s.Location, top)
			}
			p.Sample = append(p.Sample, s)
		}
	}
	return p.Write(w)
}
