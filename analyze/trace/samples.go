package trace

// Sample has calls of a function.
type Sample struct {
	Function uint32
	Calls    int64
	Total    int64 // ns of all
	// First has the times in ns of the first calls with a known end.
	First []int64
}

// Samples returns the calls of each function, with at most so many times. A time includes callees,
// but neither suspensions nor the instrumentation's cost.
func (t *Trace) Samples(most int) map[uint32]*Sample {
	all := map[uint32]*Sample{}
	for _, r := range t.Realms {
		for i := range r.Calls {
			c := &r.Calls[i]
			if c.Function == 0 { // its begin is lost
				continue
			}
			of := all[c.Function]
			if of == nil {
				of = &Sample{Function: c.Function}
				all[c.Function] = of
			}
			e := r.whole(sum{time: c.Total, pairs: pairs{own: c.spans, child: c.begun, childClosed: c.closed}})
			ns := max(0, int64(e.value))
			of.Calls++
			of.Total += ns
			if !c.Threw && !c.Open && len(of.First) < most {
				of.First = append(of.First, ns)
			}
		}
	}
	return all
}
