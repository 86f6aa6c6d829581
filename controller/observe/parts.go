package observe

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/netsim/instrument"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
	"github.com/eideticker/eideticker/pattern"
)

// part is a folder of records, and the instrument of their pages.
type part struct {
	begun, replaced     time.Time
	off                 int // policies that were off
	pages               *session.ScriptPages
	plainSecret         string
	measured, reporting http.Handler
}

// Limits of earlier parts, whose pages may still send.
const (
	linger   = 10 * time.Minute
	maxOlder = 4
)

// newPart makes the next folder.
func (o *Observer) newPart() (*part, error) {
	o.mu.Lock()
	o.sum.Parts++
	number, selected := o.sum.Parts, o.plan
	o.mu.Unlock()
	dir := filepath.Join(o.o.Dir, fmt.Sprintf("%06d", number))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	p := &part{begun: o.o.Now(), off: len(selected.Off), plainSecret: rand.Text()}
	var err error
	p.pages, err = session.OpenScriptPages(session.ScriptOptions{Policies: o.o.Policies, Dir: dir, Quota: partBytes,
		Live: true, More: []policy.Policy{metaPolicy()}, Plan: selected})
	if err == nil {
		if err = p.pages.Save(); err != nil {
			_, _ = p.pages.Close() // the folder is removed
		}
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	beacon, err := instrument.New(instrument.Options{Nonce: "$eideticker", Secret: p.plainSecret, Prelude: metaPrelude,
		Collector: session.OwnOrigin})
	if err != nil {
		return nil, err
	}
	p.measured, p.reporting = p.pages.Wrap(o.proxy), beacon.Wrap(o.proxy)
	return p, nil
}

// full reports whether a part has enough records, or a broken log.
func (o *Observer) full(p *part) bool {
	age := o.o.Now().Sub(p.begun)
	return age >= o.o.Rotate || age >= leastPart && (p.pages.Bytes() >= partBytes*3/4 || p.pages.Failed() != nil)
}

// rotate begins a new part. Pages of earlier ones may still send. A failure switches the instrument
// off until the next attempt.
func (o *Observer) rotate() {
	next, err := o.newPart()
	o.replace(next)
	o.mu.Lock()
	o.sum.Problem = ""
	if err != nil {
		o.sum.Problem = err.Error()
	}
	o.mu.Unlock()
	if err != nil {
		o.tell(fmt.Sprintf("pages are served as they are, since records cannot be kept: %v", err))
	}
	if err := o.prune(); err != nil {
		o.tell(fmt.Sprintf("old records cannot be removed: %v", err))
	}
}

// replace makes another part the present one; nil: nothing is instrumented.
func (o *Observer) replace(next *part) {
	o.mu.Lock()
	if o.current != nil {
		o.current.replaced = o.o.Now()
		o.older = append(o.older, o.current)
	}
	o.current = next
	o.mu.Unlock()
	o.retire(maxOlder)
}

// retire ends the parts that were replaced a while ago, and the oldest ones beyond a number.
func (o *Observer) retire(most int) {
	o.mu.Lock()
	n := 0
	for n < len(o.older) && (n < len(o.older)-most || o.o.Now().Sub(o.older[n].replaced) >= linger) {
		n++
	}
	ending := o.older[:n]
	o.older = o.older[n:]
	o.mu.Unlock()
	for _, p := range ending {
		o.end(p)
	}
}

// open returns the parts whose pages may send.
func (o *Observer) open() []*part {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.openParts()
}

func (o *Observer) openParts() []*part {
	all := slices.Clone(o.older)
	if o.current != nil {
		all = append(all, o.current)
	}
	return all
}

// end writes the last file of a part.
func (o *Observer) end(p *part) {
	o.mu.Lock()
	o.sum.Records += p.pages.Bytes()
	o.mu.Unlock()
	if _, err := p.pages.Close(); err != nil {
		o.tell(fmt.Sprintf("records are not whole: %v", err))
	}
}

// close ends all parts.
func (o *Observer) close() {
	o.replace(nil)
	o.retire(0)
	o.keepPlan()
	o.write()
}

// parts returns the folders of parts, the oldest first.
func (o *Observer) parts() (all []string, err error) {
	entries, err := os.ReadDir(o.o.Dir)
	for _, e := range entries {
		if e.IsDir() && partName.MatchString(e.Name()) {
			all = append(all, filepath.Join(o.o.Dir, e.Name()))
		}
	}
	return all, err
}

var partName = pattern.New(`^[0-9]{6,}$`)

// prune removes the oldest parts that are beyond the limit of all. It keeps the last two, and open
// ones.
func (o *Observer) prune() error {
	all, err := o.parts()
	if err != nil {
		return err
	}
	sizes, sum := make([]int64, len(all)), int64(0)
	for i, dir := range all {
		err = errors.Join(err, filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err == nil {
				sizes[i] += info.Size()
			}
			return err
		}))
		sum += sizes[i]
	}
	for i := 0; i < len(all)-max(2, len(o.open())) && sum > o.o.Keep; i++ {
		err = errors.Join(err, os.RemoveAll(all[i]))
		sum -= sizes[i]
	}
	return err
}
