package result

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/noise"
)

const (
	maxSide     = 1 << 16 // of a frame, pixels
	maxFrames   = 1 << 26
	maxName     = 300     // bytes of a name
	maxText     = 8000    // bytes of a sentence
	maxPosition = 1 << 31 // lines and columns, as in records
	// MaxSpan is the longest time in ns of a script, which a float64 holds exactly.
	MaxSpan = 1 << 53
)

// Validate returns the first fault and its place.
func (r *Results) Validate() error {
	if r.Schema != Schema || r.Version != Version {
		return fmt.Errorf("schema %.40q version %d, want %q %d", r.Schema, r.Version, Schema, Version)
	}
	c := checker{lists: map[string]int{"frames": r.Recording.Frames, "windows": len(r.Windows)}}
	c.structure(reflect.ValueOf(r).Elem())
	return c.err
}

// rule is a condition of a field. A list has at most so many entries, 0 means any number. Each
// entry fulfils the condition. It returns the fault, or "".
type rule struct {
	most      int
	condition func(c *checker, v reflect.Value) string
	region    bool // four numbers are one entry
}

// fieldRules are a field of a struct and its rule.
type fieldRule struct {
	index int
	name  string // in JSON
	rule
}

// byType resolves the names of the rules.
var byType = sync.OnceValue(func() map[reflect.Type][]fieldRule {
	all := map[reflect.Type][]fieldRule{}
	for typ, byNames := range rules() {
		known := map[string]rule{}
		for names, r := range byNames {
			for name := range strings.FieldsSeq(names) {
				known[name] = r
			}
		}
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if r, ok := known[name]; ok || name != "-" && hasStructs(typ.Field(i).Type) {
				all[typ] = append(all[typ], fieldRule{i, name, r})
			}
			delete(known, name)
		}
		if len(known) > 0 {
			panic(fmt.Sprintf("rules of %v for unknown fields: %v", typ, slices.Collect(maps.Keys(known))))
		}
	}
	return all
})

func hasStructs(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct
}

// checker keeps the first fault and the current place.
type checker struct {
	lists map[string]int // lengths of the lists that have indices
	place []string
	err   error
}

func (c *checker) require(ok bool, format string, args ...any) {
	if ok || c.err != nil {
		return
	}
	what := fmt.Sprintf(format, args...)
	if len(c.place) > 0 {
		what = strings.Join(c.place, " ") + ": " + what
	}
	c.err = errors.New(what)
}

// structure checks the fields of a struct, and then the struct as a whole.
func (c *checker) structure(v reflect.Value) {
	switch s := v.Addr().Interface().(type) {
	case *Script:
		c.lists["functions"], c.lists["realms"] = len(s.Functions), len(s.Realms)
	case *Profile:
		c.lists["functions"], c.lists["threads"] = len(s.Functions), len(s.Threads)
	}
	for _, f := range byType()[v.Type()] {
		c.field(f.name, -1, v.Field(f.index), f.rule)
	}
	if c.err == nil {
		c.whole(v.Addr().Interface())
	}
}

// field checks a value, or each entry of a list, and the structs in it. An index of -1 is none.
func (c *checker) field(name string, index int, v reflect.Value, r rule) {
	if v.Kind() == reflect.Slice && !(r.region && v.Type() == reflect.TypeFor[[]int]()) {
		n := v.Len()
		c.require(r.most == 0 || n <= r.most, "%d %s, at most %d", n, name, r.most)
		for i := 0; i < n && c.err == nil && (r.condition != nil || hasStructs(v.Type())); i++ {
			c.field(name, i, v.Index(i), r)
		}
		return
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	fault, enter := "", v.Kind() == reflect.Struct
	if r.condition != nil {
		fault, enter = r.condition(c, v), false
	}
	if fault == "" && !enter {
		return
	}
	if index >= 0 {
		name = fmt.Sprintf("%s[%d]", name, index)
	}
	c.require(fault == "", "%s %s", name, fault)
	if enter && c.err == nil {
		c.place = append(c.place, name)
		c.structure(v)
		c.place = c.place[:len(c.place)-1]
	}
}

// whole checks what several fields of a struct have to do with each other.
func (c *checker) whole(of any) {
	switch s := of.(type) {
	case *Results:
		for _, key := range sortedKeys(s.Environment) {
			c.text("key of the environment", key)
			c.text(key, s.Environment[key])
		}
	case *noise.Calibration:
		c.require(s.Frames <= c.lists["frames"], "%d frames of %d", s.Frames, c.lists["frames"])
		c.require(s.Pattern <= s.Frames, "%d frames of a pattern, of %d", s.Pattern, s.Frames)
		c.require(s.Columns > 0 && len(s.Tiles)%s.Columns == 0 || s.Columns == 0 &&
			len(s.Tiles) == 0, "%d tiles in %d columns", len(s.Tiles), s.Columns)
	case *Window:
		c.window(s)
	case *FrameTimes:
		c.times(s)
	case *analyze.Result:
		c.require(s.Measure != "", "no measure is named")
	case *analyze.Value:
		c.require(s.Name != "", "a value without a name")
		c.require(s.State == analyze.Refused || s.Low <= s.Value && s.Value <= s.High, "%g is not between %g and %g",
			s.Value, s.Low, s.High)
	case *analyze.Series:
		c.series(s)
	case *Network:
		c.require(len(s.List) <= s.Requests, "%d of %d requests are listed", len(s.List), s.Requests)
	case *Script:
		for i := 1; i < len(s.Tasks); i++ {
			c.require(s.Tasks[i].BeginNS >= s.Tasks[i-1].BeginNS, "tasks[%d] begins before the task before it", i)
		}
	case *ScriptPlan:
		c.require(s.Active <= s.Points && s.Slow <= s.Points, "%d active or %d slow of %d points", s.Active, s.Slow,
			s.Points)
	case *ScriptPrograms:
		c.require(s.Instrumented <= s.Served, "%d of %d are instrumented", s.Instrumented, s.Served)
		c.require(s.CoveredBytes <= s.Bytes, "%d of %d bytes are covered", s.CoveredBytes, s.Bytes)
		c.require(s.CalledOfThem <= s.Functions, "%d of %d functions were called", s.CalledOfThem, s.Functions)
	case *Gap:
		c.ordered(s.FromNS, s.ToNS)
	case *Task:
		c.ordered(s.BeginNS, s.EndNS)
	case *ScriptError:
		c.ordered(s.AtNS, s.AtNS)
	case *LateFrame:
		c.ordered(s.FromNS, s.ToNS)
		functions := c.lists["functions"]
		c.require(len(s.Functions) <= functions, "%d functions of %d ran meanwhile", len(s.Functions), functions)
	case *PolicyReport:
		c.require(s.Active <= s.Points, "%d of %d points are active", s.Active, s.Points)
		for _, row := range s.Rows {
			c.require(len(row.Values) == len(s.Columns), "a row has %d values of %d", len(row.Values), len(s.Columns))
		}
	case *ProfileLate:
		c.ordered(s.FromNS, s.ToNS)
	case *ProfileActive:
		c.require(treeDepth(s.Tree) <= MaxTreeDepth, "a tree is deeper than %d functions", MaxTreeDepth)
	case *ProfileNode:
		c.require(s.LowNS <= s.NS && s.NS <= s.HighNS, "ns is outside of its bounds")
	case *ProfileWait:
		c.ordered(s.BeginNS, s.EndNS)
	case *ProfileTest:
		c.require(s.LowNS <= s.LateNS && s.LateNS <= s.HighNS, "late_ns is outside of its bounds")
	case *ProfileEvent:
		c.require(s.EarliestNS <= s.LatestNS, "latest_ns is before earliest_ns")
	case *SocketWait:
		c.ordered(s.BeginNS, s.EndNS)
		c.require(s.WokenNS == 0 || s.WokenThread >= -1 && s.WokenThread < c.lists["threads"],
			"woken_thread is %d", s.WokenThread)
	case *ProfileClaims:
		d := s.Delay
		c.require(d.Low <= d.Value && d.Value <= d.High, "delay_ns is outside of its bounds")
	}
}

// text checks the key or value of a map.
func (c *checker) text(what, s string) {
	if fault := textFault(s, maxName); fault != "" {
		c.require(false, "%s %s", what, fault)
	}
}

func (c *checker) window(w *Window) {
	frames := c.lists["frames"]
	c.require(w.Green >= -1 && w.Green <= w.Start, "green_frame is %d, start_frame %d", w.Green, w.Start)
	c.require(w.Start >= 0 && w.Start <= w.End && w.End < max(frames, 1), "frames %d to %d of %d", w.Start, w.End,
		frames)
	c.require(w.Red == -1 || w.Red > w.End && w.Red < frames, "red_frame is %d, end_frame %d", w.Red, w.End)
	c.require(w.StartNS <= w.EndNS, "start_ns is %d, end_ns %d", w.StartNS, w.EndNS)
	for _, name := range sortedKeys(w.Claims) {
		c.text("claim", name)
		x := w.Claims[name]
		c.require(!math.IsNaN(x) && !math.IsInf(x, 0), "%s is %g", name, x)
	}
}

func (c *checker) times(t *FrameTimes) {
	n, frames := len(t.Time), c.lists["frames"]
	c.require(len(t.Earliest) == n && len(t.Latest) == n, "%d times, %d earliest and %d latest", n, len(t.Earliest),
		len(t.Latest))
	c.require(t.First >= 0 && t.First <= frames && n <= frames-t.First, "%d frames from %d on, of %d", n, t.First,
		frames)
	for i := 0; i < n && c.err == nil; i++ {
		if t.Earliest[i] > t.Latest[i] || i > 0 && t.Time[i] < t.Time[i-1] {
			c.require(false, "times of frame %d are not in order", t.First+i)
		}
	}
}

// series checks its lists itself, since they are long.
func (c *checker) series(s *analyze.Series) {
	frames := c.lists["frames"]
	c.require(len(s.Frames) == len(s.Values), "%d frames and %d values", len(s.Frames), len(s.Values))
	for i := 0; i < len(s.Frames) && c.err == nil; i++ {
		n, x := s.Frames[i], s.Values[i]
		if n < 0 || n >= frames || math.IsNaN(x) || math.IsInf(x, 0) {
			c.require(false, "frame %d of %d has the value %g", n, frames, x)
		} else if i > 0 && n <= s.Frames[i-1] {
			c.require(false, "frame %d stands behind %d", n, s.Frames[i-1])
		}
	}
}

// ordered requires two times of which the second is not earlier.
func (c *checker) ordered(from, to int64) {
	const limit = 1 << 62 // so that differences do not overflow
	c.require(from >= -limit && from <= to && to <= limit, "it lasts from %d to %d ns", from, to)
}

func treeDepth(all []ProfileNode) (depth int) {
	for i := range all {
		depth = max(depth, 1+treeDepth(all[i].Callers))
	}
	return depth
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
