// Package observe is a proxy in front of a live application. It instruments the scripts of a share
// of its users.
//
// The application's pages do not depend on it. If records, files or the instrument fail, pages are
// served as they are. A cookie puts users into groups. It does not tell users apart.
//
// Every tenth load of an instrumented user stays plain. If the others are worse, at p < 0.01, the
// next loads are without a policy.
package observe

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/netsim/instrument/plan"
)

// Options of an observer.
type Options struct {
	Upstream *url.URL // an origin; nil: clients use the observer as their proxy
	KeepHost bool     // the application gets the host that clients ask
	Outside  bool     // clients are on other machines, so addresses of this one alone are refused
	Policies []string
	Adapt    string        // how functions are selected, as in package plan; "": all are measured
	Share    float64       // of the users, from 0 to 1
	Ramp     time.Duration // of each step to the share; 0: at once
	Dir      string        // of the records
	Rotate   time.Duration // of one folder of records
	Keep     int64         // bytes of all folders
	Now      func() time.Time
	Log      func(string) // takes sentences
}

// Limits of an observer.
const (
	partBytes = 16 << 20         // of the records of a folder
	leastPart = time.Minute      // of a folder
	tick      = 10 * time.Second // of the work beside requests
	plainPart = 10               // every tenth load stays plain
	keyBytes  = 32
)

// Names in the folder.
const (
	summaryFile = "observe.json"
	keyFile     = "observe.key"
)

// steps are the shares of a ramp.
var steps = []float64{0.01, 0.05, 0.25, 1}

// Observer is a handler for concurrent use. Run must run meanwhile.
type Observer struct {
	o       Options
	key     []byte
	id      string // in requests for the application
	proxy   http.Handler
	started time.Time

	mu      sync.Mutex
	current *part   // nil: nothing is instrumented
	older   []*part // their pages may still send; the oldest first
	meta    meta
	plan    *plan.Plan // its programs do not change
	learned time.Time  // of the last look at the plan
	sum     Summary
	told    map[string]time.Time // sentences, by their last time
	due     chan struct{}        // has an element if loads are to be judged
}

// Summary is the content of observe.json.
type Summary struct {
	Started  time.Time `json:"started"`
	Policies []string  `json:"policies"`
	// Share is the present one, of the users.
	Share        float64 `json:"share"`
	Untouched    int64   `json:"untouched_loads"`
	Plain        int64   `json:"plain_loads"` // of instrumented users
	Instrumented int64   `json:"instrumented_loads"`
	Reported     [2]int  `json:"reported_loads"` // plain and instrumented
	// Off are the policies that were switched off, since they harmed.
	Off      []plan.Off `json:"off"`
	Plan     PlanState  `json:"plan"`
	Upstream int64      `json:"upstream_failures"`
	Records  int64      `json:"record_bytes"`
	Parts    int        `json:"parts"` // folders so far
	Problem  string     `json:"problem"`
}

// PlanState is how far the selection of functions is.
type PlanState struct {
	Adapt   string `json:"adapt"`
	Updates int    `json:"updates"`
	Slow    int    `json:"slow"`   // functions
	Stable  bool   `json:"stable"` // only slow functions are measured from now on
}

// New makes the folder, and the first part in it.
func New(o Options) (*Observer, error) {
	x := &Observer{o: o, id: rand.Text(), told: map[string]time.Time{}, due: make(chan struct{}, 1)}
	if x.o.Now == nil {
		x.o.Now = time.Now
	}
	x.started = x.o.Now()
	x.sum = Summary{Started: x.started, Policies: o.Policies, Share: x.share()}
	x.proxy = x.newProxy()
	if err := x.openFolder(); err != nil {
		return nil, fmt.Errorf("observe: %w", err)
	}
	if err := x.openPlan(); err != nil {
		return nil, fmt.Errorf("observe: %w", err)
	}
	for _, off := range x.plan.Off {
		x.tell("a policy stays off: " + off.String())
	}
	if len(x.plan.On()) == 0 {
		return x, nil
	}
	first, err := x.newPart()
	if err != nil {
		return nil, fmt.Errorf("observe: %w", err)
	}
	x.current = first
	return x, nil
}

// openFolder makes the folder, or continues one of an observer.
func (o *Observer) openFolder() error {
	if err := os.MkdirAll(o.o.Dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(o.o.Dir)
	if err != nil {
		return err
	}
	path := filepath.Join(o.o.Dir, keyFile)
	o.key, err = os.ReadFile(path)
	switch {
	case err == nil && len(o.key) == keyBytes:
		parts, err := o.parts()
		if len(parts) > 0 {
			_, err = fmt.Sscanf(filepath.Base(parts[len(parts)-1]), "%d", &o.sum.Parts)
		}
		return err
	case errors.Is(err, fs.ErrNotExist) && len(entries) == 0:
		o.key = make([]byte, keyBytes)
		_, _ = rand.Read(o.key) // never fails
		return os.WriteFile(path, o.key, 0o600)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is not empty; choose another folder with -o", o.o.Dir)
	case err == nil:
		return fmt.Errorf("%s has %d bytes: must have %d; remove the folder", path, len(o.key), keyBytes)
	}
	return err
}

// Link returns the code that selects its user for a week, as the value of the parameter Name.
func (o *Observer) Link() string { return link(o.key, o.o.Now().Add(linkLife)) }

// ServeHTTP serves the application, the collector and links.
func (o *Observer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get(idField) == o.id {
		o.fails(errors.New("its address is that of the observer"))
		http.Error(w, "The application is the observer itself.", http.StatusLoopDetected)
		return
	}
	if rest, ok := strings.CutPrefix(r.URL.Path, "/.eideticker/"); ok {
		secret, name, _ := strings.Cut(rest, "/")
		o.receive(w, r, secret, name)
		return
	}
	u, page := o.userOf(r), isDocument(r)
	if page && r.URL.Query().Has(Name) {
		o.follow(w, r, u)
		return
	}
	p, share := o.now()
	if page {
		u.load = o.treat(u, p, share)
		o.keep(u, w, r)
	}
	if p == nil {
		u.load = untouched
	}
	r = withLoad(r, u.load)
	switch u.load {
	case measured:
		p.measured.ServeHTTP(w, r)
	case reporting:
		p.reporting.ServeHTTP(w, r)
	default:
		o.proxy.ServeHTTP(w, r)
	}
}

// now returns the present part and share. The part is nil if nothing is instrumented.
func (o *Observer) now() (*part, float64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.current, o.share()
}

// share returns the share of users at present.
func (o *Observer) share() float64 {
	if o.o.Ramp <= 0 {
		return o.o.Share
	}
	passed := int(o.o.Now().Sub(o.started) / o.o.Ramp)
	return min(o.o.Share, steps[min(max(passed, 0), len(steps)-1)])
}

// treat decides the treatment of a load, and counts it.
func (o *Observer) treat(u user, p *part, share float64) kind {
	o.mu.Lock()
	defer o.mu.Unlock()
	compared := !u.selected && p != nil && p.off == len(o.plan.Off)
	switch {
	case p == nil, u.refused, !u.selected && float64(u.bucket) >= share*buckets:
		o.sum.Untouched++
		return untouched
	case !u.selected && random(plainPart) == 0:
		if o.sum.Plain++; compared {
			o.meta.begins(plain, o.o.Now())
		}
		return reporting
	}
	if o.sum.Instrumented++; compared {
		o.meta.begins(instrumented, o.o.Now())
	}
	return measured
}

// follow selects the user of a link, and loads the page without its code.
func (o *Observer) follow(w http.ResponseWriter, r *http.Request, u user) {
	to := *r.URL
	query := to.Query()
	code := query.Get(Name)
	query.Del(Name)
	to.RawQuery = query.Encode()
	// A path such as //host would lead elsewhere.
	to.Scheme, to.Host, to.Path = "", "", "/"+strings.TrimLeft(to.Path, `/\`)
	to.RawPath = ""
	if code == "off" {
		u.selected, u.refused = false, true
	} else if err := checkLink(o.key, code, o.o.Now()); err == nil {
		u.selected, u.refused = true, false
	}
	o.keep(u, w, r)
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, to.String(), http.StatusFound)
}

// receive passes records and reports of loads on. Unknown secrets are those of earlier parts.
func (o *Observer) receive(w http.ResponseWriter, r *http.Request, secret, name string) {
	for _, p := range o.open() {
		side := slices.Index([]string{plain: p.plainSecret, instrumented: p.pages.Secret()}, secret)
		switch {
		case side < 0:
		case name == "load":
			// Users of links have no plain loads.
			if l, err := readLoad(r); err == nil && r.Method == http.MethodPost && !o.userOf(r).selected {
				o.reports(p, side, l)
			}
			w.WriteHeader(http.StatusNoContent)
			return
		case side == instrumented:
			p.pages.Collector().ServeHTTP(w, r)
			return
		}
	}
	http.NotFound(w, r)
}

// reports adds a load to the trial of its policies. Run judges the trial soon, if it is due.
func (o *Observer) reports(p *part, side int, l plan.Past) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if p.off != len(o.plan.Off) { // it had other policies
		return
	}
	o.meta.ends(&o.plan.Trial, side, l)
	if o.meta.look == nil {
		return
	}
	select {
	case o.due <- struct{}{}:
	default:
	}
}

// fails counts and tells an error of the application.
func (o *Observer) fails(err error) {
	o.mu.Lock()
	o.sum.Upstream++
	o.mu.Unlock()
	o.tell(fmt.Sprintf("the application does not answer: %v", err))
}

// tell logs a sentence, the same one at most once a minute.
func (o *Observer) tell(text string) {
	o.mu.Lock()
	last, known := o.told[text]
	again := known && o.o.Now().Sub(last) < time.Minute
	if !again {
		if len(o.told) > 1000 {
			clear(o.told)
		}
		o.told[text] = o.o.Now()
	}
	o.mu.Unlock()
	if !again && o.o.Log != nil {
		o.o.Log(text)
	}
}

// Run does the work beside requests until ctx ends. It then closes the records.
func (o *Observer) Run(ctx context.Context) error {
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			o.work()
		case <-o.due:
			o.judge()
		case <-ctx.Done():
			o.close()
			return nil
		}
	}
}

// work judges the loads and updates the plan. It begins a new part if that needs one, or if the
// present one is full. It saves all.
func (o *Observer) work() {
	o.mu.Lock()
	o.meta.expire(&o.plan.Trial, o.o.Now())
	o.mu.Unlock()
	o.judge()
	o.mu.Lock()
	share := o.share()
	changed := share != o.sum.Share
	o.sum.Share = share
	on, p := len(o.plan.On()) > 0, o.current
	o.mu.Unlock()
	if changed && on {
		o.tell(fmt.Sprintf("%.4g %% of the users are instrumented", 100*share))
	}
	if on && (p == nil || o.learn(p) || o.full(p)) {
		o.rotate()
	}
	o.retire(maxOlder)
	for _, p := range o.open() {
		if err := p.pages.Save(); err != nil {
			o.tell(fmt.Sprintf("records cannot be kept: %v", err))
		}
	}
	o.write()
}

// write writes the summary.
func (o *Observer) write() {
	raw, err := json.MarshalIndent(o.Summary(), "", "  ")
	if err == nil {
		err = staging.WriteFile(filepath.Join(o.o.Dir, summaryFile), append(raw, '\n'), 0o644)
	}
	if err != nil {
		o.tell(fmt.Sprintf("the summary cannot be written: %v", err))
	}
}

// Summary returns the counts until now.
func (o *Observer) Summary() Summary {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.sum
	s.Reported, s.Share = o.meta.reported, o.share()
	s.Off = append([]plan.Off{}, o.plan.Off...)
	s.Plan.Adapt, s.Plan.Stable = o.plan.Adapt, o.plan.Stable
	if len(o.plan.On()) == 0 {
		s.Share = 0
	}
	for _, p := range o.openParts() {
		s.Records += p.pages.Bytes()
	}
	return s
}
