package daemon

import "maps"

// Figures are counted since the daemon began.
type Figures struct {
	Captured map[string]uint64            // frames stored, by device
	Lost     map[string]map[string]uint64 // frames lost, by device and cause
	Runs     map[string]map[string]uint64 // by device and state
	Jobs     map[string]map[string]uint64 // ended, by kind and state
	Deleted  uint64                       // runs, to make room
	Queued   int                          // now
	Working  int
}

func newFigures() Figures {
	return Figures{Captured: map[string]uint64{}, Lost: map[string]map[string]uint64{},
		Runs: map[string]map[string]uint64{}, Jobs: map[string]map[string]uint64{}}
}

func (f *Figures) captured(device string, frames uint64) { f.Captured[device] += frames }

func (f *Figures) lost(device, cause string, frames uint64) { count(f.Lost, device, cause, frames) }

func (f *Figures) made(device, state string) { count(f.Runs, device, state, 1) }

func (f *Figures) ended(kind, state string) { count(f.Jobs, kind, state, 1) }

func count(in map[string]map[string]uint64, a, b string, n uint64) {
	if in[a] == nil {
		in[a] = map[string]uint64{}
	}
	in[a][b] += n
}

// Figures returns a copy.
func (d *Daemon) Figures() Figures {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.figures
	f.Captured = maps.Clone(f.Captured)
	f.Lost, f.Runs, f.Jobs = clone(f.Lost), clone(f.Runs), clone(f.Jobs)
	f.Queued, f.Working = len(d.waiting), len(d.working)
	return f
}

func clone(m map[string]map[string]uint64) map[string]map[string]uint64 {
	out := map[string]map[string]uint64{}
	for k, v := range m {
		out[k] = maps.Clone(v)
	}
	return out
}
