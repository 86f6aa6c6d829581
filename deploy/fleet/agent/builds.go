package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// want notes the builds that the hub wants now.
func (a *Agent) want(all []wire.Build) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wanted = slices.DeleteFunc(slices.Clone(all[:min(len(all), wire.MaxMade)]),
		func(b wire.Build) bool { return !slices.Contains(a.o.Signs, b.Feed) })
	maps.DeleteFunc(a.made, func(b wire.Build, _ wire.Made) bool { return !slices.Contains(a.wanted, b) })
}

// owes reports if the hub still wants a build that was made. The mutex is held.
func (a *Agent) owes() bool {
	return slices.ContainsFunc(a.wanted, func(b wire.Build) bool { return a.made[b].Line != nil })
}

// makeBuilds makes the builds that the hub wants, one after the other, until ctx ends.
func (a *Agent) makeBuilds(ctx context.Context) {
	look := time.NewTicker(a.o.Look)
	defer look.Stop()
	for ctx.Err() == nil {
		a.mu.Lock()
		at := slices.IndexFunc(a.wanted, func(b wire.Build) bool { _, is := a.made[b]; return !is })
		var b wire.Build
		if at >= 0 {
			b = a.wanted[at]
		}
		a.mu.Unlock()
		if at >= 0 {
			m, err := a.o.Make(ctx, b)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				m = wire.Made{Error: bounded(err.Error())}
				a.o.Log.Warn("a build could not be made for other rigs", "error", err)
			}
			m.Build = b
			a.mu.Lock()
			a.made[b], a.untold = m, true
			a.mu.Unlock()
			continue
		}
		select {
		case <-look.C:
		case <-ctx.Done():
		}
	}
}

// Times of builds that are fetched.
const (
	fetchPatience = 2 * time.Minute // without a byte
	fetchAgain    = 5 * time.Second
)

// Fetch writes the archive of a build to a file, at most one byte more than the limit. It goes on
// where a connection broke.
func (a *Agent) Fetch(ctx context.Context, sum string, to *os.File, limit int64) error {
	last := time.Now()
	for {
		n, err := a.fetch(ctx, sum, to, limit)
		if n > 0 {
			last = time.Now()
		}
		if err == nil || ctx.Err() != nil || time.Since(last) > fetchPatience {
			return err
		}
		a.o.Log.Info("a build is not fetched yet", "sha256", sum, "error", err)
		select {
		case <-time.After(min(fetchAgain, 10*a.o.Look)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// fetch continues a file. It returns the bytes that came.
func (a *Agent) fetch(ctx context.Context, sum string, to *os.File, limit int64) (int64, error) {
	a.mu.Lock()
	bus, by := a.bus, a.to
	a.mu.Unlock()
	if bus == nil {
		return 0, errors.New("get the build: the rig has no hub")
	}
	raw, err := json.Marshal(wire.Ask{Build: sum})
	if err == nil {
		raw, err = a.request(ctx, bus, "ask", raw)
	}
	var got wire.Asked
	if err == nil {
		err = json.Unmarshal(raw, &got)
	}
	at, e := to.Seek(0, io.SeekEnd)
	switch err = errors.Join(err, e); {
	case err != nil:
		return 0, fmt.Errorf("get the build: %w", err)
	case got.Error != "":
		return 0, errors.New("get the build: " + bounded(got.Error))
	case !ticketForm.MatchString(got.Ticket):
		return 0, fmt.Errorf("get the build: ticket %.80q is invalid", got.Ticket)
	}
	ctx, cancel := context.WithTimeout(ctx, transferTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, by.hub+"/fleet/v1/ticket/"+got.Ticket, nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Range", fmt.Sprintf("bytes=%d-", at))
	res, err := by.http.Do(r)
	if err != nil {
		return 0, fmt.Errorf("get the build: %w", err)
	}
	defer res.Body.Close() // was only read
	switch {
	case res.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		return 0, nil // it is whole
	case res.StatusCode != http.StatusPartialContent:
		text, _ := io.ReadAll(io.LimitReader(res.Body, maxReason)) // a part says enough
		return 0, fmt.Errorf("get the build: the hub answers %d: %s", res.StatusCode, text)
	}
	return io.Copy(to, io.LimitReader(res.Body, limit+1-at))
}
