package trend

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/controller/session"
)

const (
	maxSetFile  = 16 << 20
	maxRuns     = 10 * stats.MaxRuns // of a set
	maxMeasured = 2000               // points of a set
)

// plan is a part of set.json.
type plan struct {
	Runs []planned `json:"runs"`
	// Sums has the SHA-256 of builds by KIND@FEED:BUILD.
	Sums map[string]string `json:"build_sha256"`
}

type planned struct {
	Dir     string        `json:"dir"`
	Variant string        `json:"variant"`
	State   session.State `json:"state"`
	WarmUp  bool          `json:"warm_up"`
}

// run is one that counts.
type run struct {
	id      string
	role    Role
	record  *session.Record
	windows []result.Window
	names   []string // of the windows
}

// Read reads the folder of a set that a schedule made. It returns the points of its headline
// values, which the answers of windows show first. It leaves out runs that do not count, warm-ups,
// incomplete blocks and suspected values. A value that is a headline in one run is read in all.
func Read(folder string) (o Origin, all []Measured, err error) {
	return read(folder, filepath.Base(folder))
}

// ReadLight reads a hub's light folder RIG/JOB.N. Its set is RIG/JOB.N, and devices are RIG/DEVICE.
func ReadLight(folder string) (o Origin, all []Measured, err error) {
	rig := filepath.Base(filepath.Dir(folder))
	o, all, err = read(folder, rig+"/"+filepath.Base(folder))
	for i := range all {
		if o.Pool == "" {
			all[i].Key.Device = rig + "/" + all[i].Key.Device
		}
	}
	return o, all, err
}

// Sums returns the SHA-256 of a set's builds by KIND@FEED:BUILD.
func Sums(folder string) (map[string]string, error) {
	p, err := readPlan(folder, &Origin{})
	return p.Sums, err
}

// read reads the folder of a set under the ID of the set.
func read(folder, set string) (o Origin, all []Measured, err error) {
	f, err := openRegular(filepath.Join(folder, session.OriginFile))
	if err != nil {
		return o, nil, err
	}
	o, err = DecodeOrigin(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return o, nil, err
	}
	runs, err := readRuns(folder, set, &o)
	if err == nil {
		all, err = measured(set, &o, runs)
	}
	if err != nil {
		return o, nil, fmt.Errorf("read set %s: %w", set, err)
	}
	return o, all, nil
}

// openRegular opens a file that is not a pipe or a link.
func openRegular(path string) (*os.File, error) {
	st, err := os.Lstat(path)
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", filepath.Base(path))
	}
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// readPlan returns the plan of a set. A single run in the folder itself has none in a file.
func readPlan(folder string, o *Origin) (p plan, err error) {
	f, err := openRegular(filepath.Join(folder, session.SetFile))
	if errors.Is(err, fs.ErrNotExist) {
		p.Runs = []planned{{Dir: ".", State: session.Passed}}
		for name := range o.Roles {
			p.Runs[0].Variant = name
		}
		if len(o.Roles) > 1 {
			return p, fmt.Errorf("it has %d roles and no %s", len(o.Roles), session.SetFile)
		}
		return p, nil
	}
	if err != nil {
		return p, err
	}
	defer f.Close() // was only read
	raw, err := io.ReadAll(io.LimitReader(f, maxSetFile))
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err == nil && len(p.Runs) > maxRuns {
		err = fmt.Errorf("over %d runs", maxRuns)
	}
	if err != nil {
		return p, fmt.Errorf("read %s: %w", session.SetFile, err)
	}
	return p, nil
}

// readRuns reads the runs that count. Those of a bisection alone may be of incomplete blocks.
func readRuns(folder, set string, o *Origin) (all []*run, err error) {
	p, err := readPlan(folder, o)
	if err != nil {
		return nil, err
	}
	for _, r := range p.Runs {
		role, known := o.Roles[r.Variant]
		switch {
		case r.State != session.Passed || r.WarmUp:
			continue
		case !known:
			return nil, fmt.Errorf("variant %.40q has no role", r.Variant)
		case !filepath.IsLocal(filepath.FromSlash(r.Dir)):
			return nil, fmt.Errorf("run %.40q is outside the folder", r.Dir)
		}
		one := &run{id: set, role: role}
		if r.Dir != "." {
			one.id += "~" + strings.ReplaceAll(filepath.ToSlash(r.Dir), "/", "~")
		}
		switch counts, err := one.read(filepath.Join(folder, filepath.FromSlash(r.Dir))); {
		case err != nil:
			return nil, fmt.Errorf("run %.40q: %w", r.Dir, err)
		case counts:
			all = append(all, one)
		}
	}
	if o.Kind == KindBisect {
		return all, nil
	}
	// a failed job has incomplete blocks
	roles := map[int]map[Role]bool{}
	for _, r := range all {
		if roles[r.record.Block] == nil {
			roles[r.record.Block] = map[Role]bool{}
		}
		roles[r.record.Block][r.role] = true
	}
	return slices.DeleteFunc(all, func(r *run) bool { return len(roles[r.record.Block]) < len(o.Roles) }), nil
}

// read reads run.json and results.json of a run.
func (r *run) read(dir string) (counts bool, err error) {
	f, err := openRegular(filepath.Join(dir, session.RecordFile))
	if err != nil {
		return false, err
	}
	r.record, err = session.ReadRecord(f)
	if err := errors.Join(err, f.Close()); err != nil || r.record.State != session.Passed || r.record.WarmUp {
		return false, err
	}
	if f, err = openRegular(filepath.Join(dir, result.FileName)); err != nil {
		return false, err
	}
	res, err := result.Decode(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return false, fmt.Errorf("%s: %w", result.FileName, err)
	}
	r.windows, r.names = res.Windows, result.WindowNames(res.Windows)
	for i := range r.windows {
		r.windows[i].Times = result.FrameTimes{}
		for j := range r.windows[i].Results {
			r.windows[i].Results[j].Series = nil // large
		}
	}
	return true, nil
}

// headline names a value of a window.
type headline struct{ window, name string }

// measured makes the points of runs.
func measured(set string, o *Origin, runs []*run) (all []Measured, err error) {
	alone := !slices.ContainsFunc(runs, func(r *run) bool { return len(r.windows) != 1 })
	var names []headline
	var first int64
	for i, r := range runs {
		if first = min(first, r.record.StartedWallNS); i == 0 {
			first = r.record.StartedWallNS
		}
		for j := range r.windows {
			if alone {
				r.names[j] = ""
			}
			for _, name := range append(slices.Clone(r.windows[j].Answer.Primary), o.Value) {
				if h := (headline{r.names[j], name}); !slices.Contains(names, h) {
					names = append(names, h)
				}
			}
		}
	}
	at := map[SeriesKey]int{}
	for _, h := range names {
		for _, r := range runs {
			i := slices.Index(r.names, h.window)
			if i < 0 {
				continue
			}
			key, threshold, v, ok := r.value(&r.windows[i], h)
			if !ok {
				continue
			}
			if key.Schedule = o.Schedule; o.Pool != "" {
				key.Device = PoolDevice(o.Pool)
			}
			n, there := at[key]
			if !there {
				if n = len(all); n == maxMeasured {
					return nil, fmt.Errorf("over %d values", maxMeasured)
				}
				at[key] = n
				all = append(all, Measured{key, threshold, Point{Seq: o.seq(&r.role), Build: r.role.Build, Set: set,
					WallNS: first}})
			}
			p := &all[n].Point
			p.Values = append(p.Values, Value{Run: r.id, Block: r.record.Block, Value: v})
		}
	}
	return all, nil
}

// seq returns the sequence number of a role's point: that of the subject, or in a confirmation that
// of its own build.
func (o *Origin) seq(r *Role) int64 {
	if o.Kind == KindPoint {
		return o.Seq
	}
	return r.Seq
}

// value returns a headline value of a run, unless it was refused or is suspected.
func (r *run) value(w *result.Window, h headline) (k SeriesKey, threshold, value float64, ok bool) {
	measure, name, _ := strings.Cut(h.name, ".")
	for i := range w.Results {
		res := &w.Results[i]
		if res.Measure != measure {
			continue
		}
		v, there := res.Find(name)
		if !there {
			continue
		}
		if v.State == analyze.Refused || v.State == analyze.Suspected {
			return k, 0, 0, false
		}
		k = SeriesKey{Test: r.record.Test, Window: h.window, Measure: measure, Value: name, Unit: v.Unit,
			Better: string(v.Better), Version: res.Version, Device: r.record.Device, Product: r.role.Product,
			Feed: r.role.Feed, Role: r.role.Role}
		if v.Better == analyze.Neither {
			k.Better = ""
		}
		if r.record.Network != nil {
			k.Network = r.record.Network.Profile
		}
		threshold = v.Threshold
		for _, of := range []string{measure, h.name} { // the test's own come before those of measures
			if t, there := r.record.Thresholds[of]; there {
				threshold = float64(t) / 100
			}
		}
		return k, threshold, v.Value, true
	}
	return k, 0, 0, false
}
