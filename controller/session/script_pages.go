package session

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/analyze/scripts"
	"github.com/eideticker/eideticker/netsim/instrument/plan"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
)

// ScriptOptions describe the instrumentation of pages.
type ScriptOptions struct {
	Policies []string
	Break    bool   // see instrument.Options
	Dir      string // of script.log and script.json; it exists
	// Collector returns the collector's origin for pages of a host; nil: the page's own origin.
	Collector func(host string, secure bool) string
	Quota     int64 // bytes of all records (default: the collector's)
	// Live is a site that others run. It is not asked for source maps.
	Live bool
	// More are further policies, which script.json does not list.
	More []policy.Policy

	// Plan selects functions; nil: all are measured. Its programs must not change meanwhile.
	Plan *plan.Plan

	plan   *planned        // of a run's scripts
	chosen []policy.Policy // of these names; nil: those without settings
}

// ScriptPages instruments pages outside of a run, and keeps their records. Close must be called
// after the last request.
type ScriptPages struct {
	*scripting
	dir   string
	live  bool
	saved [2]int // programs and moved positions in script.json
}

// OpenScriptPages makes the instrument and begins script.log.
func OpenScriptPages(o ScriptOptions) (*ScriptPages, error) {
	if o.Collector == nil {
		o.Collector = OwnOrigin
	}
	if o.Plan != nil {
		o.plan = &planned{plan: o.Plan, choice: o.Plan.Next()}
	}
	p := &ScriptPages{scripting: &scripting{}, dir: o.Dir, live: o.Live, saved: [2]int{-1}}
	return p, p.open(o)
}

// OwnOrigin returns the origin of the pages of a host; empty: without a host.
func OwnOrigin(host string, secure bool) string {
	switch {
	case host == "":
		return ""
	case secure:
		return "https://" + host
	}
	return "http://" + host
}

// Failed returns the error after which no record is kept; nil: none.
func (p *ScriptPages) Failed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// Secret returns the path element of the collector.
func (p *ScriptPages) Secret() string { return p.secret }

// Collector returns the handler of the pages' records.
func (p *ScriptPages) Collector() http.Handler { return p.collector }

// Bytes returns the size of all accepted records.
func (p *ScriptPages) Bytes() int64 { return p.collector.Stats().Bytes }

// Wrap returns a handler that instruments the responses of another one. The collector is on each of
// its origins.
func (p *ScriptPages) Wrap(next http.Handler) http.Handler {
	wrapped := p.instrument.Wrap(next)
	if !p.live {
		p.site = next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/.eideticker/"+p.secret+"/") {
			p.collector.ServeHTTP(w, r)
			return
		}
		wrapped.ServeHTTP(w, r)
	})
}

// Read returns the scripts until now.
func (p *ScriptPages) Read() (*scripts.Run, error) {
	info := p.info()
	arrived, err := p.read(info)
	if err != nil {
		return nil, err
	}
	return scripts.New(info, arrived), nil
}

// Save keeps the scripts until now, so that both files can be read after a crash. script.json is
// written if it has further programs or places of errors. Save and Close must not run together.
func (p *ScriptPages) Save() error {
	info := p.info()
	if now := [2]int{len(info.Programs), len(info.Moved)}; now != p.saved {
		info.Warnings = append(info.Warnings, "The program ended before these records did.")
		if err := p.write(info); err != nil {
			return err
		}
		p.saved = now
	}
	return p.file.Sync()
}

// write writes script.json as a whole.
func (p *ScriptPages) write(info *scripts.Info) error {
	var text bytes.Buffer
	if err := info.Write(&text); err != nil {
		return err
	}
	return staging.WriteFile(filepath.Join(p.dir, scripts.InfoFile), text.Bytes(), 0o644)
}

// Close ends the log, and writes script.json. It returns the scripts even if that fails.
func (p *ScriptPages) Close() (*scripts.Run, error) {
	run, err := p.finish()
	if err == nil {
		err = p.write(run.Info)
	}
	if err = errors.Join(err, p.close()); err != nil {
		err = fmt.Errorf("keep the scripts: %w", err)
	}
	return run, err
}
