package hub

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/bus"
	"github.com/eideticker/eideticker/deploy/fleet/sched"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
	"github.com/eideticker/eideticker/deploy/server/runweb"
	"github.com/eideticker/eideticker/pattern"
)

// Bounds of the queue.
const (
	maxOwned = 20_000 // live jobs of an owner
	maxLive  = 200_000
	maxNeeds = 16
	maxRuns  = 10_000
)

var (
	jobForm   = pattern.New(`^s-[a-z0-9-]{1,90}$`)
	rigForm   = pattern.New(`^[A-Za-z0-9-]{1,32}$`)
	labelForm = pattern.New(`^[A-Za-z0-9._:+-]{1,64}$`)
)

// Submit queues a job. A job of this ID that exists is returned instead, so that repeated calls
// make one job. It returns after the job is durable.
func (h *Hub) Submit(ctx context.Context, owner string, p api.JobParams) (api.FleetJob, error) {
	if p.Job == "" {
		p.Job = "s-" + strings.ToLower(rand.Text()[:16])
	}
	if !jobForm.MatchString(p.Job) {
		return api.FleetJob{}, api.Errorf(api.InvalidParams, "job %.100q: must be s- and 1 to 90 of a-z, 0-9 and -",
			p.Job)
	}
	var out api.FleetJob
	var err error
	h.makeRoom()
	h.do(func() { err = h.submit(ctx, owner, p) }, func() {
		if j := h.jobs[p.Job]; err == nil && j != nil {
			out = h.view(j)
		}
	})
	return out, err
}

// submit queues a job, as an operation. A job that is there has been queued.
func (h *Hub) submit(ctx context.Context, owner string, p api.JobParams) error {
	if err := cmp.Or(h.ready(), h.op.err, ctx.Err()); err != nil {
		return unavailable(err)
	}
	if j, err := h.find(ctx, p.Job); err != nil || j != nil {
		return err
	}
	j, blobs, err := h.newJob(owner, p)
	if err == nil {
		err = h.admit(owner, j)
	}
	if err != nil {
		return err
	}
	for sum, content := range blobs {
		if err := h.o.Bus.Blobs().Put(ctx, sum, content); err != nil {
			return unavailable(err)
		}
	}
	if err := h.write(j, j.record.clone(), nil); err != nil {
		return unavailable(err)
	}
	return nil
}

// fitting returns the devices that fit a job of an owner, RIG/DEVICE: those that are there, and
// others.
func (h *Hub) fitting(owner string, p api.JobParams) (there, away []string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.ready(); err != nil {
		return nil, nil, err
	}
	p.Job = "s-fitting" // of a job that is not stored
	j, _, err := h.newJob(owner, p)
	if err != nil {
		return nil, nil, err
	}
	if there, away, err = h.sched.Fitting(j.wanted()); err != nil {
		return nil, nil, api.Errorf(api.InvalidParams, "%s", strings.TrimPrefix(err.Error(), "job "+p.Job+": "))
	}
	return there, away, nil
}

// room returns an error if the disk has too little space for new jobs.
func (h *Hub) room() error {
	if free, err := h.o.Free(); err == nil && free < 2*h.o.Quota {
		return api.Errorf(api.Unavailable, "the hub's disk is nearly full: %d MiB are free, new jobs need %d MiB",
			free>>20, 2*h.o.Quota>>20)
	}
	return nil
}

// admit returns an error if the hub does not take another job.
func (h *Hub) admit(owner string, j *job) error {
	if err := h.room(); err != nil {
		return err
	}
	if n := h.owned[owner]; n >= maxOwned {
		return api.Errorf(api.TooMany, "%d jobs of %s have not ended, at most %d may", n, owner, maxOwned)
	}
	if n := len(h.jobs) - len(h.over); n >= maxLive {
		return api.Errorf(api.TooMany, "%d jobs have not ended, the hub takes no more", n)
	}
	if err := h.sched.Check(j.wanted()); err != nil {
		return api.Errorf(api.InvalidParams, "%v", err)
	}
	return nil
}

// newJob checks the parameters of a job. It returns the contents that the job refers to.
func (h *Hub) newJob(owner string, p api.JobParams) (*job, map[string][]byte, error) {
	j := &job{record: record{Job: p.Job, Owner: owner, Class: p.Class, Label: p.Label, Replace: p.Replace, Keep: p.Keep,
		QueuedNS: h.o.Now().UnixNano(), State: queued}}
	if j.Class == "" {
		j.Class = api.ClassNow
	}
	if !slices.Contains(classes, j.Class) {
		return nil, nil, api.Errorf(api.InvalidParams, "class %.40q: must be now, check, watch or fill", p.Class)
	}
	if len(p.Label) > api.MaxName || len(owner) > 2*api.MaxName || len(p.Needs) > maxNeeds {
		return nil, nil, api.Errorf(api.InvalidParams, "job %s: label, owner or needs are too long", p.Job)
	}
	given := 0
	for kind, name := range map[string]string{"suite": p.Test, "url": p.URL, "upload": uploadName(p.Upload)} {
		if name != "" {
			j.Kind, j.Test = kind, clip(name, api.MaxName)
			given++
		}
	}
	if given != 1 && (given > 0 || len(p.Variants) == 0) {
		return nil, nil, api.Errorf(api.InvalidParams, "job %s: needs one of test, url and upload", p.Job)
	}
	if given == 0 {
		j.Kind, j.Test = "suite", clip(p.Variants[0].Test+p.Variants[0].URL, api.MaxName)
	}
	p.StartParams.Variants = slices.Clone(p.Variants)
	devices, err := takeDevices(&p.StartParams)
	if err != nil {
		return nil, nil, err
	}
	j.Needs, j.Devices = slices.Clone(p.Needs), max(1, len(devices.names))
	if devices.rig != "" {
		j.Needs = append(j.Needs, "rig="+devices.rig, "device="+strings.Join(devices.names, ","))
	}
	if j.Feeds, err = feedsOf(p.StartParams); err != nil {
		return nil, nil, api.Errorf(api.InvalidParams, "job %s: %v", p.Job, err)
	}
	for _, feed := range j.Feeds {
		if h.o.Built != nil && h.o.Built(feed) {
			j.Needs = append(j.Needs, wire.Builder+"="+feed)
			j.Builds = append(j.Builds, buildsOf(p.StartParams, feed)...)
		}
	}
	if _, err := sched.ParseNeeds(j.Needs); err != nil {
		return nil, nil, api.Errorf(api.InvalidParams, "job %s: %v", p.Job, err)
	}
	if j.Tests, err = testsOf(p.StartParams); err != nil {
		return nil, nil, api.Errorf(api.InvalidParams, "job %s: %v", p.Job, err)
	}
	j.Browsers = h.browsersOf(&p.StartParams, j.Devices)
	sides, err := h.sides(&p.StartParams, j.Devices)
	if err != nil {
		return nil, nil, api.Errorf(api.InvalidParams, "job %s: %v", p.Job, err)
	}
	j.Runs = runsOf(&p.StartParams, sides)
	j.EstimateNS = int64(h.estimate(j.Test, j.Runs))
	blobs, err := j.pack(p.StartParams)
	if err != nil {
		return nil, nil, err
	}
	if raw, err := json.Marshal(j.record); err != nil || len(raw) > maxNew {
		return nil, nil, api.Errorf(api.InvalidParams, "job %s: tests, needs and short parameters have %d bytes, "+
			"at most %d are taken", p.Job, len(raw), maxNew)
	}
	return j, blobs, nil
}

// pack fills the job's parameters. Large ones and uploads become blobs.
func (j *job) pack(p api.StartParams) (map[string][]byte, error) {
	blobs := map[string][]byte{}
	if p.Upload != nil {
		raw, err := json.Marshal(p.Upload)
		if err != nil || len(raw) > 2*api.MaxUpload {
			return nil, api.Errorf(api.InvalidParams, "job %s: upload has %d bytes, at most %d are taken", j.Job,
				len(raw), api.MaxUpload)
		}
		j.Upload = hexSum(raw)
		blobs[j.Upload] = raw
		p.Upload = nil
	}
	for _, v := range p.Variants {
		if v.Upload != nil {
			return nil, api.Errorf(api.InvalidParams, "job %s: a fleet takes no uploads in variants", j.Job)
		}
	}
	if n := len(p.Origin); n > 0 && !json.Valid(p.Origin) {
		return nil, api.Errorf(api.InvalidParams, "job %s: its origin is not JSON", j.Job)
	}
	j.spec = &spec{p, p.Origin}
	raw, err := json.Marshal(j.spec)
	if err != nil {
		return nil, api.Errorf(api.InvalidParams, "job %s: %v", j.Job, err)
	}
	if j.size = len(raw); j.size > maxSpec {
		return nil, api.Errorf(api.InvalidParams, "job %s: parameters have %d bytes, at most %d are taken", j.Job,
			len(raw), maxSpec)
	}
	if j.Spec = raw; len(raw) > maxInline {
		j.Spec, j.SpecSum = nil, hexSum(raw)
		blobs[j.SpecSum] = raw
	}
	return blobs, nil
}

// named are the devices that a job names.
type named struct {
	rig   string
	names []string
}

// takeDevices removes RIG/ from the devices of parameters. All must be of one rig.
func takeDevices(p *api.StartParams) (n named, err error) {
	take := func(device string) (string, error) {
		rig, name, is := strings.Cut(device, "/")
		switch {
		case !is || !rigForm.MatchString(rig) || !labelForm.MatchString(name):
			return "", api.Errorf(api.InvalidParams, "device %.100q: must be RIG/DEVICE, or use needs", device)
		case n.rig != "" && n.rig != rig:
			return "", api.Errorf(api.InvalidParams, "devices are of %s and %s: a job has one rig", n.rig, rig)
		}
		n.rig = rig
		if !slices.Contains(n.names, name) {
			n.names = append(n.names, name)
		}
		return name, nil
	}
	for _, device := range p.Devices {
		if _, err := take(device); err != nil {
			return n, err
		}
	}
	for i := range p.Variants {
		if v := &p.Variants[i]; v.Device != "" {
			if v.Device, err = take(v.Device); err != nil {
				return n, err
			}
		}
	}
	if len(n.names) > maxDevices {
		return n, api.Errorf(api.InvalidParams, "a job has at most %d devices", maxDevices)
	}
	p.Devices = nil // the assignment has them
	return n, nil
}

// testsOf returns the names of the tests that a job's rig must have. It checks the form of
// addresses, which no rig takes otherwise.
func testsOf(p api.StartParams) (tests []string, err error) {
	for _, v := range append(slices.Clone(p.Variants), api.Variant{Test: p.Test, URL: p.URL}) {
		if len(v.Test) > api.MaxName {
			return nil, fmt.Errorf("the name of a test has %d bytes, at most %d are taken", len(v.Test), api.MaxName)
		}
		if v.Test != "" && !slices.Contains(tests, v.Test) {
			tests = append(tests, v.Test)
		}
		if v.URL == "" {
			continue
		}
		if u, err := url.Parse(v.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
			u.User != nil || len(v.URL) > api.MaxURL {
			return nil, fmt.Errorf("%.80q is not an address that begins with http:// or https:// and a host", v.URL)
		}
	}
	slices.Sort(tests)
	return tests, nil
}

// feedsOf returns the feeds of a job's browsers.
func feedsOf(p api.StartParams) (feeds []string, err error) {
	browsers := slices.Clone(p.Browsers)
	for _, v := range p.Variants {
		browsers = append(browsers, v.Browser)
	}
	for _, text := range browsers {
		b, err := api.ParseBrowser(text)
		if err != nil {
			return nil, err
		}
		if b.Feed != "" && !slices.Contains(feeds, b.Feed) {
			feeds = append(feeds, b.Feed)
		}
	}
	return feeds, nil
}

// browsersOf returns the browsers that each device of a job must have. Those of one of several
// devices are checked by the rig.
func (h *Hub) browsersOf(p *api.StartParams, devices int) []string {
	all := slices.Clone(p.Browsers)
	for _, v := range p.Variants {
		if v.Device == "" || devices == 1 {
			all = append(all, v.Browser)
		}
	}
	return sched.Installed(all, h.o.Site)
}

// Folder returns the light folder of a set RIG/ID, or of a part of it, RIG/ID~VARIANT.
func (h *Hub) Folder(set string) (string, error) {
	rig, id, _ := strings.Cut(set, "/")
	id, below, _ := strings.Cut(id, "~")
	below = strings.ReplaceAll(below, "~", "/")
	if !rigForm.MatchString(rig) || !wire.IsAttempt(id) || len(set) > maxPath || below != "" && runweb.Hidden(below) {
		return "", api.Errorf(api.InvalidParams, "%.100q is not the set of a rig, such as lab-07/s-1.1", set)
	}
	dir, err := h.light.path(rig, id)
	if err != nil {
		return "", api.Errorf(api.NotFound, "%v", err)
	}
	if st, err := os.Stat(filepath.Join(dir, below)); err != nil || !st.IsDir() {
		return "", api.Errorf(api.NotFound, "set %.200s has no such runs", set)
	}
	return filepath.Join(dir, below), nil
}

// runsOf estimates the number of runs.
func runsOf(p *api.StartParams, sides int) int {
	each := max(1, p.Repeat)
	if p.WarmUp != nil {
		each += max(0, *p.WarmUp)
	}
	return min(maxRuns, each*sides)
}

// sides returns the number of variants that take turns on a rig. Those with a profile have plain
// ones beside them. It returns an error for more than a rig takes.
func (h *Hub) sides(p *api.StartParams, devices int) (n int, err error) {
	subjects := p.Variants
	if len(subjects) == 0 {
		subjects = []api.Variant{{}}
	}
	repeats := p.Repeat > 1 || p.Repeat == 0 && len(subjects) > 1
	alternate, plain := repeats && !p.ProfiledOnly && !p.UntilFail && p.Origin == nil, 0
	for _, v := range subjects {
		on, in := devices, max(1, len(p.Browsers))
		if v.Device != "" {
			on = 1
		}
		if v.Browser != "" {
			in = 1
		}
		n += on * in
		test := v.Test
		if test == "" && v.URL == "" {
			test = p.Test
		}
		if alternate && (p.Profile != "" || h.profiled(test)) {
			plain += on * in
		}
	}
	switch {
	case n > api.MaxVariants:
		return 0, fmt.Errorf("%d variants: at most %d can take turns", n, api.MaxVariants)
	case n+plain > api.MaxVariants:
		return 0, fmt.Errorf("%d variants with those of plain runs: at most %d can take turns; set profiled_only",
			n+plain, api.MaxVariants)
	}
	return n + plain, nil
}

// profiled reports if the file of a test has a profile, on each rig that has the test.
func (h *Hub) profiled(test string) (is bool) {
	for _, r := range h.rigs {
		there := r.known && slices.Contains(r.tests, test)
		if there && !slices.Contains(r.profiled, test) {
			return false
		}
		is = is || there
	}
	return is
}

func uploadName(u *api.Upload) string {
	if u == nil {
		return ""
	}
	if u.Test == "" {
		return "upload"
	}
	return u.Test
}

func hexSum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Estimates of the time of a run.
const (
	usualRun = time.Minute
	maxTests = 4096 // with an estimate
)

// estimate returns the expected time of a job.
func (h *Hub) estimate(test string, runs int) time.Duration {
	each := h.took[test]
	if each == 0 {
		each = usualRun
	}
	return min(24*time.Hour, time.Duration(runs)*each)
}

// learn corrects the estimate of a test.
func (h *Hub) learn(j *job, took time.Duration) {
	if took <= 0 || took > 24*time.Hour || j.Runs <= 0 {
		return
	}
	each := took / time.Duration(j.Runs)
	if old, is := h.took[j.Test]; is {
		each = (3*old + each) / 4
	} else if len(h.took) >= maxTests {
		return
	}
	h.took[j.Test] = max(each, time.Second)
}

// unavailable is the error for clients if the storage does not work.
func unavailable(err error) error {
	if told := (*api.Error)(nil); errors.As(err, &told) {
		return err
	}
	if errors.Is(err, bus.ErrFull) {
		return api.Errorf(api.Unavailable, "%v", err)
	}
	return api.Errorf(api.Unavailable, "the hub's storage cannot be written: %v; try again", err)
}
