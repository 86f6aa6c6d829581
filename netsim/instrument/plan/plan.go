package plan

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// File is the name of a plan in the folder of a set.
const File = "plan.json"

// Schema and Version are those of plan.json.
const (
	Schema  = "eideticker.plan"
	Version = 2
)

// The ways to adapt.
const (
	Loads = "loads" // between loads
	Live  = "live"  // also within a load
)

// Limits of a plan.
const (
	maxFile     = 64 << 20
	maxPrograms = 20_000
	maxPoints   = 200_000
	maxPlain    = 1000 // latest loads whose plain ones are known
	maxTrial    = 400  // loads of a trial that are kept
	maxCount    = 1 << 40
	maxPolicies = 100
	maxText     = 2000 // bytes
	maxTime     = 1e12 // ms
	minShare    = 0.01
)

// Plan is the content of plan.json. It is not safe for concurrent use.
type Plan struct {
	Schema  string  `json:"schema"`
	Version int     `json:"version"`
	Adapt   string  `json:"adapt"` // "", loads or live
	Share   float64 `json:"share"` // of the loads that measure a function; 0: all
	Seed    uint64  `json:"seed"`
	// Count counts the loads so far. Plains are the numbers of the latest plain ones.
	Count  int   `json:"count"`
	Plains []int `json:"plains"`
	Trial  Trial `json:"trial"`
	// Stable states that drill-down has decided. Only slow functions are measured then.
	Stable   bool               `json:"stable"`
	Programs map[string]Program `json:"programs"` // by SHA-256 in hexadecimal digits
	// Dropped counts points of texts that their addresses no longer have.
	Dropped int `json:"dropped"`
	// Costs are those of the policies that can be switched off, in the latest instrumented load.
	Costs []Cost `json:"costs"`
	// Off are the policies that harmed pages.
	Off []Off `json:"off"`
}

// Cost is the extent of a policy's insertions in a load.
type Cost struct {
	Policy  string `json:"policy"`
	Records int64  `json:"records"`
	Places  int    `json:"places"` // with insertions
}

// Off is a policy that was switched off.
type Off struct {
	Policy string `json:"policy"`
	Loads  int    `json:"loads"` // compared until then
	Reason string `json:"reason"`
}

func (o Off) String() string {
	return fmt.Sprintf("%s, after %d loads: %s", o.Policy, o.Loads, o.Reason)
}

// IsOff reports whether a policy was switched off.
func (p *Plan) IsOff(policy string) bool {
	return slices.ContainsFunc(p.Off, func(o Off) bool { return o.Policy == policy })
}

// On returns the costs of the policies that are on.
func (p *Plan) On() []Cost {
	return slices.DeleteFunc(slices.Clone(p.Costs), func(c Cost) bool { return p.IsOff(c.Policy) })
}

// Spend sets the costs of the policies that are on. Other policies than before begin a new trial.
func (p *Plan) Spend(costs []Cost) {
	costs = slices.DeleteFunc(costs, func(c Cost) bool { return p.IsOff(c.Policy) })
	if !slices.EqualFunc(costs, p.On(), func(a, b Cost) bool { return a.Policy == b.Policy }) {
		p.Trial = Trial{}
	}
	p.Costs = costs
}

// Program is a text with functions that were called.
type Program struct {
	URL    string           `json:"url"`
	Since  int              `json:"since"`  // number of the first load with it
	Points map[uint32]Point `json:"points"` // by offset
}

// Point is a function that was called.
type Point struct {
	Verdict Verdict `json:"verdict"`
	// Samples are the latest calls, at most 20: 1 is longer than 5 ms.
	Samples string `json:"samples"`
	// Tested counts loads that could measure the function. The others are sums over them.
	Tested int     `json:"tested"`
	Calls  int64   `json:"calls"`
	TimeMS float64 `json:"time_ms"`
	// Weighted sums have the inverse of the load's probability as weight.
	WeightedCalls  float64 `json:"weighted_calls"`
	WeightedTimeMS float64 `json:"weighted_time_ms"`
}

// Verdict is the result of the sign test.
type Verdict string

// The verdicts.
const (
	Undecided Verdict = ""
	Slow      Verdict = "slow"
	Fast      Verdict = "fast"
)

// Past has what a load's effect on its page is judged by.
type Past struct {
	Plain     bool    `json:"plain"`      // without insertions in scripts
	LoadMS    float64 `json:"load_ms"`    // until the event load; 0: it never came
	BlockedMS float64 `json:"blocked_ms"` // of long tasks, beyond 50 ms each
	Errors    int     `json:"errors"`
}

// Trial is a sequence of plain and instrumented loads with the same policies. It is judged when it
// has the next number of loads.
type Trial struct {
	Loads []Past `json:"loads"` // the latest ones
	Count int    `json:"count"` // of all
	Looks int    `json:"looks"` // so far
	Next  int    `json:"next"`  // number of loads at the next look
}

// Add adds a load.
func (t *Trial) Add(l Past) {
	t.Count++
	t.Loads = append(t.Loads, l)
	t.Loads = t.Loads[max(0, len(t.Loads)-maxTrial):]
}

// New returns a plan without points.
func New(adapt string, share float64, seed uint64) (*Plan, error) {
	p := &Plan{Schema: Schema, Version: Version, Adapt: adapt, Share: share, Seed: seed}
	return p, p.check()
}

// Clone returns a copy that may be updated while choices of the plan are in use.
func (p *Plan) Clone() *Plan {
	c := *p
	c.Plains, c.Programs = slices.Clone(p.Plains), maps.Clone(p.Programs)
	for hash, of := range c.Programs {
		of.Points = maps.Clone(of.Points)
		c.Programs[hash] = of
	}
	return &c
}

// Read reads and checks a plan.json.
func Read(from io.Reader) (*Plan, error) {
	raw, err := io.ReadAll(io.LimitReader(from, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxFile {
		return nil, fmt.Errorf("larger than %d MiB", maxFile>>20)
	}
	p := &Plan{}
	if err := json.Unmarshal(raw, p); err != nil {
		return nil, err
	}
	return p, p.check()
}

// Write writes a plan.json.
func (p *Plan) Write(w io.Writer) error {
	raw, err := json.Marshal(p)
	if err != nil {
		return err
	}
	_, err = w.Write(append(raw, '\n'))
	return err
}

func (p *Plan) check() error {
	switch {
	case p.Schema != Schema:
		return fmt.Errorf("schema is %.40q: must be %q", p.Schema, Schema)
	case p.Version != Version:
		return fmt.Errorf("version is %d: must be %d", p.Version, Version)
	case p.Adapt != "" && p.Adapt != Loads && p.Adapt != Live:
		return fmt.Errorf("adapt is %.40q: must be %s or %s", p.Adapt, Loads, Live)
	case p.Share != 0 && !(p.Share >= minShare && p.Share <= 1):
		return fmt.Errorf("share is %g: must be %g to 1", p.Share, minShare)
	case p.Count < 0 || p.Count > maxCount || p.Dropped < 0 || p.Dropped > maxCount:
		return errors.New("count or dropped is out of range")
	case len(p.Plains) > maxPlain:
		return fmt.Errorf("%d plain loads: at most %d are allowed", len(p.Plains), maxPlain)
	case len(p.Programs) > maxPrograms:
		return fmt.Errorf("%d programs: at most %d are allowed", len(p.Programs), maxPrograms)
	case len(p.Off) > maxPolicies || len(p.Costs) > maxPolicies:
		return fmt.Errorf("off or costs have more than %d policies", maxPolicies)
	}
	for _, o := range p.Off {
		if max(len(o.Policy), len(o.Reason)) > maxText || o.Loads < 0 || o.Loads > maxCount {
			return fmt.Errorf("off: policy %.40q is out of range", o.Policy)
		}
	}
	for _, c := range p.Costs {
		if len(c.Policy) > maxText || c.Records < 0 || c.Places < 0 {
			return fmt.Errorf("costs: policy %.40q is out of range", c.Policy)
		}
	}
	if err := p.Trial.check(); err != nil {
		return fmt.Errorf("trial: %w", err)
	}
	if p.Programs == nil {
		p.Programs = map[string]Program{}
	}
	points := 0
	for _, hash := range slices.Sorted(maps.Keys(p.Programs)) {
		of := p.Programs[hash]
		if points += len(of.Points); points > maxPoints {
			return fmt.Errorf("more than %d points", maxPoints)
		}
		if err := of.check(hash, p.Count); err != nil {
			return fmt.Errorf("program %.80q: %w", hash, err)
		}
		if of.Points == nil {
			of.Points = map[uint32]Point{}
			p.Programs[hash] = of
		}
	}
	return nil
}

func (t *Trial) check() error {
	if len(t.Loads) > min(maxTrial, t.Count) || t.Count > maxCount || t.Looks < 0 || t.Looks > t.Count ||
		t.Next < 0 || t.Next > 2*maxCount {
		return errors.New("its counts are out of range")
	}
	for i, l := range t.Loads {
		if !(l.LoadMS >= 0 && l.LoadMS <= maxTime && l.BlockedMS >= 0 && l.BlockedMS <= maxTime) || l.Errors < 0 {
			return fmt.Errorf("load %d is out of range", i)
		}
	}
	return nil
}

func (o *Program) check(hash string, loads int) error {
	if raw, err := hex.DecodeString(hash); err != nil || len(raw) != 32 {
		return errors.New("its name must be a SHA-256 in hexadecimal digits")
	}
	if len(o.URL) > maxText || o.Since < 0 || o.Since > loads {
		return errors.New("url or since is out of range")
	}
	for start, at := range o.Points {
		ok := at.Verdict == Undecided || at.Verdict == Slow || at.Verdict == Fast
		ok = ok && len(at.Samples) <= MostSamples && strings.Trim(at.Samples, "01") == "" &&
			at.Tested >= 0 && at.Tested <= loads && at.Calls >= 0 && at.Calls <= maxCount
		for _, x := range []float64{at.TimeMS, at.WeightedCalls, at.WeightedTimeMS} {
			ok = ok && x >= 0 && x <= maxTime
		}
		if !ok {
			return fmt.Errorf("point %d is out of range", start)
		}
	}
	return nil
}

// each iterates over the points in a fixed order.
func (p *Plan) each(yield func(hash string, start uint32, at Point)) {
	for _, hash := range slices.Sorted(maps.Keys(p.Programs)) {
		of := p.Programs[hash].Points
		for _, start := range slices.SortedFunc(maps.Keys(of), cmp.Compare[uint32]) {
			yield(hash, start, of[start])
		}
	}
}
