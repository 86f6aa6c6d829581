package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/analyze/scripts"
	"github.com/eideticker/eideticker/analyze/trace"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/instrument"
	"github.com/eideticker/eideticker/netsim/instrument/collect"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
	"github.com/eideticker/eideticker/netsim/instrument/record"
	"github.com/eideticker/eideticker/netsim/instrument/sourcemap"
	"github.com/eideticker/eideticker/netsim/replay"
	"github.com/eideticker/eideticker/netsim/serve"
)

// checkScript checks if the scripts of a test's pages can be instrumented: the rig must serve them.
// local states that the test loads a server of this machine through a link.
func checkScript(t *suite.Test, local bool) error {
	if !t.Script.Given() {
		return nil
	}
	if _, err := policiesOf(t); err != nil {
		return fmt.Errorf("test %s: script: %w", t.Name, err)
	}
	switch {
	case t.Network.Replay != "":
		return nil
	case local && strings.HasPrefix(t.URL, "https:"):
		return fmt.Errorf("test %s: %s has TLS of its own, so its scripts cannot be instrumented; use http", t.Name,
			t.URL)
	case strings.HasPrefix(t.URL, "file:") && !local:
		return fmt.Errorf("test %s: the scripts of a file cannot be instrumented on a network; omit --network", t.Name)
	case len(loaded(t.Steps)) > 0:
		return fmt.Errorf("test %s: script needs an archive if steps load pages", t.Name)
	case !t.Served() && !local:
		return fmt.Errorf("test %s: script needs pages that this program serves; add --network", t.Name)
	}
	return nil
}

// Ports of the collector on a network of the run's own. The second one is for tests of a server at
// the first.
const (
	// CollectorPort is that of the first one.
	CollectorPort      = 4999
	otherCollectorPort = 4998
)

// scripting instruments the scripts of a run's pages, and keeps the records that they send.
type scripting struct {
	policies   []string
	instrument *instrument.Instrument
	site       http.Handler // without instrumentation; nil: none is served yet
	collector  *collect.Collector
	server     *serve.Server
	secret     string
	origin     string // of the collector
	file       *os.File
	arrived    chan struct{} // has one element after a batch, and after the collector's end

	mu     sync.Mutex
	log    *record.LogWriter // nil: finished, or a batch could not be written
	failed error             // of the log
	gone   error             // of the collector's server
	realms map[uint32]*realmClaims
	moved  []scripts.Moved                // positions that errors name
	known  map[scripts.Moved]bool         // by the served position
	served map[string][]*scripts.Function // by address, in the order of their begins; nil: unknown yet
}

// realmClaims are the claims of a realm about its progress.
type realmClaims struct {
	ended bool
	// offset is at most that of the page's clock, plus the fastest way of a batch
	offset timeline.Time
	sent   timeline.Time // page time of the last batch
}

// instrumentScripts makes the instrument of a test's pages, and runs its collector until ctx ends.
// The log goes to dir.
func (p *pages) instrumentScripts(ctx context.Context, t *suite.Test, dir string) (err error) {
	if !t.Script.Given() {
		return nil
	}
	chosen, err := policiesOf(t)
	if err != nil {
		return err
	}
	s := &scripting{}
	if err := s.open(ScriptOptions{Policies: t.Script.Policies, chosen: chosen, Break: t.Script.Break, Dir: dir,
		plan:      p.listen.plan,
		Collector: func(string, bool) string { return s.origin }}); err != nil {
		return err
	}
	if err := p.openCollector(t, s); err != nil {
		return errors.Join(fmt.Errorf("collect the records of scripts: %w", err), s.close())
	}
	p.script = s
	p.serveCollector(ctx)
	return nil
}

// open makes the instrument, the log and the collector.
func (s *scripting) open(o ScriptOptions) error {
	s.policies, s.arrived, s.realms = o.Policies, make(chan struct{}, 1), map[uint32]*realmClaims{}
	s.known = map[scripts.Moved]bool{}
	chosen, err := o.chosen, error(nil)
	if chosen == nil {
		if chosen, err = policy.Named(strings.Join(s.policies, ",")); err != nil {
			return err
		}
	}
	if o.plan != nil {
		chosen, s.policies = o.plan.policies(chosen), nil
		for _, one := range chosen {
			s.policies = append(s.policies, one.Name)
		}
	}
	s.secret = rand.Text()
	options := instrument.Options{Nonce: instrument.NewNonce(), Secret: s.secret, Policies: append(chosen, o.More...),
		Break: o.Break, Collector: o.Collector}
	o.plan.choose(&options)
	if s.instrument, err = instrument.New(options); err != nil {
		return err
	}
	if s.file, err = os.Create(filepath.Join(o.Dir, scripts.LogFile)); err == nil {
		s.log, err = record.NewLogWriter(s.file)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("keep the records of scripts: %w", err), s.close())
	}
	s.collector = collect.New(collect.Options{Secret: s.secret, Clock: timeline.Monotonic(), Quota: o.Quota,
		Accept: s.accept, Rewrite: s.instrument.Dynamic})
	return nil
}

// openCollector opens the collector's port. Servers with TLS in the run have it use TLS too: their
// pages may not ask others.
func (p *pages) openCollector(t *suite.Test, s *scripting) error {
	o := serve.Options{Handler: s.collector, Blind: true}
	if p.authority != nil {
		o.Authority = p.authority.Authority
	}
	server, err := serve.New(o)
	if err != nil {
		return err
	}
	port := uint16(CollectorPort)
	if local := localServerOf(context.Background(), t.URL, hostsFile); local != nil && local.port == fmt.Sprint(port) {
		port = otherCollectorPort
	}
	beside := p.listen.beside
	if beside == nil {
		beside = func(uint16) (net.Listener, string, error) { return p.listen.connections("") }
	}
	l, host, err := beside(port)
	if err != nil {
		return errors.Join(err, server.Close())
	}
	p.note(l.Addr())
	if p.protocol == suite.HTTP3 { // which Chromium speaks with all servers of the run
		c, err := p.listen.packetsBeside(port)
		if err != nil {
			return errors.Join(err, l.Close(), server.Close())
		}
		server.QUIC(c)
	}
	if s.server = server; o.Authority != nil {
		server.HTTPS(l)
		s.origin = "https://" + host
	} else {
		server.HTTP(l)
		s.origin = "http://" + host
	}
	return nil
}

// serveCollector runs the collector until ctx ends. close joins it. A run outlives its collector.
func (p *pages) serveCollector(ctx context.Context) {
	s := p.script
	p.serving.Go(func() error {
		if err := s.server.Run(ctx); err != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.gone = err
			s.signal()
		}
		return nil
	})
}

// wrap returns a handler whose responses are instrumented. A nil scripting instruments nothing.
func (s *scripting) wrap(h http.Handler) http.Handler {
	if s == nil {
		return h
	}
	s.site = h
	return s.instrument.Wrap(h)
}

// accept keeps a batch. The collector calls it with one batch at a time.
func (s *scripting) accept(at timeline.Time, b *record.Batch, raw []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.log == nil {
		return
	}
	if err := s.log.Write(int64(at.Sub(s.collector.Start())), raw); err != nil {
		s.log, s.failed = nil, err
		s.signal()
		return
	}
	sent := timeline.Time(b.Sent * 1e6)
	of := s.realms[b.Realm]
	if of == nil {
		of = &realmClaims{offset: at - sent}
		s.realms[b.Realm] = of
	}
	of.offset, of.sent = min(of.offset, at-sent), max(of.sent, sent)
	for _, d := range b.Details {
		s.move(d.URL, d.Line, d.Column)
		for _, p := range d.Stack {
			s.move(p.URL, p.Line, p.Column)
		}
	}
	of.ended = of.ended || slices.ContainsFunc(b.Records, func(r record.Record) bool { return r.Code == record.End })
	s.signal()
}

func (s *scripting) signal() {
	select {
	case s.arrived <- struct{}{}:
	default:
	}
}

// Limits of the wait for the last batches after the content's end.
const (
	scriptsQuiet   = 2 * time.Second // without a batch: no more are expected
	scriptsTimeout = 10 * time.Second
)

// settle waits until each realm has ended, or has sent its records until a time. It does not wait
// longer than scriptsQuiet for the next batch, nor for a collector that has ended.
func (s *scripting) settle(ctx context.Context, until timeline.Time) {
	ctx, cancel := context.WithTimeout(ctx, scriptsTimeout)
	defer cancel()
	for !s.complete(until) {
		quiet := time.NewTimer(scriptsQuiet)
		select {
		case <-s.arrived:
			quiet.Stop()
		case <-quiet.C:
			return
		case <-ctx.Done():
			quiet.Stop()
			return
		}
	}
}

func (s *scripting) complete(until timeline.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.log == nil || s.gone != nil {
		return true
	}
	for _, of := range s.realms {
		if !of.ended && of.sent+of.offset < until {
			return false
		}
	}
	return len(s.realms) > 0
}

// finish ends the log and returns the scripts of the run. Batches that arrive later are dropped.
func (s *scripting) finish() (*scripts.Run, error) {
	s.mu.Lock()
	s.log = nil
	s.mu.Unlock()
	info := s.info()
	arrived, err := s.read(info)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), sourcesTimeout)
	defer cancel()
	for _, err := range s.addSources(ctx, info) {
		info.Warnings = append(info.Warnings, fmt.Sprintf("Places in sources are unknown: %v.", err))
	}
	s.index(info)
	return scripts.New(info, arrived), nil
}

// index keeps the functions for original.
func (s *scripting) index(info *scripts.Info) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served = map[string][]*scripts.Function{}
	for i := range info.Programs {
		p := &info.Programs[i]
		for k := range p.Functions {
			s.served[p.URL] = append(s.served[p.URL], &p.Functions[k])
		}
	}
	outside := map[bool]int{true: 0, false: 1} // the program begins where its first function may
	for _, all := range s.served {
		slices.SortStableFunc(all, func(a, b *scripts.Function) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
				cmp.Compare(outside[a.Outside], outside[b.Outside]))
		})
	}
}

// maxHead limits the characters from the begin of a function to its parameters.
const maxHead = 300

// original returns a function of a profile by its name and place in the source. Without a source it
// has its place in the original script. Browsers name the place of parameters in the served script.
func (s *scripting) original(f activity.Function) activity.Function {
	url, _, _ := strings.Cut(f.File, "?")
	url, _, _ = strings.Cut(url, "#")
	line, column := s.instrument.Original(url, f.Line, int(f.Offset))
	f.Line, f.Offset = line, uint64(column)
	s.mu.Lock()
	all := s.served[url]
	s.mu.Unlock()
	next := sort.Search(len(all), func(i int) bool {
		return cmp.Or(cmp.Compare(all[i].Line, line), cmp.Compare(all[i].Column, column)) > 0
	})
	if next == 0 {
		return f
	}
	of := all[next-1]
	head := column - of.Column
	if next > 1 && head == 0 && all[next-2].Outside && all[next-2].Line == line && all[next-2].Column == column {
		of = all[next-2]
	}
	if of.Line != line || head > maxHead || int64(of.Start)+int64(head) >= int64(of.End) {
		return f
	}
	f.Name, f.Offset = of.Name, uint64(of.Column)
	if of.File != "" {
		f.File, f.Line, f.Offset = of.File, of.SourceLine, 0
	}
	return f
}

// read reads the log until now. A damaged end is a warning.
func (s *scripting) read(info *scripts.Info) ([]trace.Arrived, error) {
	file, err := os.Open(s.file.Name())
	if err != nil {
		return nil, err
	}
	defer file.Close() // only read
	arrived, err := scripts.ReadLog(file, timeline.Time(info.StartNS))
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && s.failed == nil && s.log == nil { // otherwise a batch is being written
		info.Warnings = append(info.Warnings, fmt.Sprintf("Records of scripts cannot be read: %v.", err))
	}
	return arrived, nil
}

// info returns the programs until now, and the account of their records.
func (s *scripting) info() *scripts.Info {
	info := &scripts.Info{StartNS: int64(s.collector.Start()), Policies: s.policies, Warnings: []string{},
		Programs: Programs(s.instrument.Programs())}
	s.mu.Lock()
	failed, gone := s.failed, s.gone
	info.Moved = append([]scripts.Moved{}, s.moved...)
	s.mu.Unlock()
	warn := func(format string, args ...any) { info.Warnings = append(info.Warnings, fmt.Sprintf(format, args...)) }
	if failed != nil {
		warn("Records of scripts could not be kept: %s.", staging.WithoutPath(failed))
	}
	if gone != nil {
		warn("The collector of scripts ended before the run: %v.", gone)
	}
	got := s.collector.Stats()
	info.Received = scripts.Received{Batches: got.Batches, Records: got.Records, Bytes: got.Bytes, Dropped: got.Dropped,
		Missing: got.Missing, Refused: map[string]int64{}}
	maps.Copy(info.Received.Refused, got.Refused)
	for _, reason := range slices.Sorted(maps.Keys(got.Refused)) {
		warn("Batches of records that the collector refused: %d (%s).", got.Refused[reason], reason)
	}
	if got.Dropped > 0 {
		warn("The pages sent %d invalid records or details.", got.Dropped)
	}
	return info
}

// Programs returns the description of programs that were served.
func Programs(from []instrument.Program) []scripts.Program {
	all := []scripts.Program{}
	for _, p := range from {
		one := scripts.Program{URL: cut(p.URL, 2000), Hash: p.Hash, Goal: p.Goal, Bytes: int64(p.Bytes),
			Added: int64(p.Added), First: p.First, Functions: []scripts.Function{}, Plain: cut(p.Reason, 500),
			Count: p.Count}
		for _, f := range p.Functions {
			one.Functions = append(one.Functions,
				scripts.Function{Name: cut(f.Name, 200), Line: f.Line, Column: f.Column, NameLine: f.NameLine,
					NameColumn: f.NameColumn, Start: f.Start, End: f.End, Generator: f.Generator,
					Outside: f.Outside, Caller: f.Caller})
		}
		one.FirstPoint = p.FirstPoint
		for _, at := range p.Points {
			one.Points = append(one.Points, scripts.Point(at))
		}
		all = append(all, one)
	}
	return all
}

// maxMoved limits the positions of errors.
const maxMoved = 10_000

// sourcesTimeout limits the time in which a site must serve its source maps.
const sourcesTimeout = 5 * time.Second

// addSources adds the places in sources, and the names of functions there. The site has the source
// maps.
func (s *scripting) addSources(ctx context.Context, info *scripts.Info) (problems []error) {
	places, users := map[string][]sourcemap.Place{}, map[string][]func(sourcemap.Source){}
	use := func(url string, line, column int, user func(sourcemap.Source)) {
		places[url] = append(places[url], sourcemap.Place{Line: line, Column: column})
		users[url] = append(users[url], user)
	}
	add := func(url string, line, column int, to *scripts.Source) {
		use(url, line, column, func(f sourcemap.Source) { to.File, to.SourceLine = f.File, f.Line })
	}
	for i := range info.Programs {
		p := &info.Programs[i]
		for k := range p.Functions {
			f := &p.Functions[k]
			if !f.Outside { // a bundle has code of many sources
				use(p.URL, f.Line, f.Column, func(of sourcemap.Source) {
					f.Source.File, f.Source.SourceLine = of.File, of.Line
					if f.NameLine == 0 { // minified code has no names of function expressions
						f.Name = cmp.Or(of.Function(), f.Name)
					}
				})
			}
			if f.NameLine > 0 {
				use(p.URL, f.NameLine, f.NameColumn, func(of sourcemap.Source) { f.Name = of.Rename(f.Name) })
			}
		}
	}
	for i := range info.Moved {
		add(info.Moved[i].URL, info.Moved[i].Line, info.Moved[i].Column, &info.Moved[i].Source)
	}
	ctx = replay.Unlisted(ctx)
	for _, url := range slices.Sorted(maps.Keys(places)) {
		if ctx.Err() != nil { // a site may name thousands of maps
			return append(problems, errors.New("the site's source maps were not read in time"))
		}
		found, err := s.instrument.Sources(ctx, s.site, url, places[url])
		if err != nil {
			problems = append(problems, err)
		}
		for i, f := range found {
			users[url][i](f)
		}
	}
	return problems
}

// move keeps a position that an error names, if insertions moved it or it has a source.
func (s *scripting) move(url string, line, served int) {
	at := scripts.Moved{URL: url, Line: line, Served: served}
	if line <= 0 || s.known[at] || len(s.known) == maxMoved {
		return
	}
	s.known[at] = true
	_, at.Column = s.instrument.Original(at.URL, at.Line, at.Served)
	if at.Column != at.Served || s.instrument.Mapped(at.URL) {
		s.moved = append(s.moved, at)
	}
}

// close ends the log's file, after the collector has ended.
func (s *scripting) close() error {
	if s == nil || s.file == nil {
		return nil
	}
	return s.file.Close()
}

// readScripts returns the scripts of a run after the content's end, and emits their events. So the
// recorder must still be running. It does not wait for the records of a run that has failed.
func (r *run) readScripts(ctx context.Context, p *prepared, ended timeline.Time, failed bool,
	emit func(timeline.Event)) *scripts.Run {
	s := p.pages.script
	if !failed {
		s.settle(ctx, ended)
	}
	found, err := s.finish()
	if err != nil {
		r.note("the records of scripts could not be read: %v", err)
		return nil
	}
	if p.network != nil {
		down, up := p.network.Link.Bypassed()
		found.Info.Received.BytesDown, found.Info.Received.BytesUp = down.Bytes, up.Bytes
	}
	for _, e := range found.Events(timeline.Monotonic().Now()) {
		emit(e)
	}
	for _, w := range found.Info.Warnings {
		r.log.Warn("scripts", "warning", w)
	}
	r.log.Info("scripts", "programs", len(found.Info.Programs), "batches", found.Info.Received.Batches, "records",
		found.Info.Received.Records, "lost", found.Trace.Lost)
	return found
}

// writeScripts writes script.json, if scripts were instrumented.
func (r *run) writeScripts(s *scripts.Run, recording string) {
	if s == nil {
		return
	}
	s.Info.Recording = recording
	if err := writeTo(r.path(scripts.InfoFile), s.Info.Write); err != nil {
		r.note("%s could not be written: %v", scripts.InfoFile, staging.WithoutPath(err))
	}
}
