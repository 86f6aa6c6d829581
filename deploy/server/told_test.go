package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
)

// book keeps the log.
type book struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *book) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// take returns the log since its last call.
func (b *book) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.text.Reset()
	return b.text.String()
}

// loud has every line be written: usually of each address there are not more than some a second.
func (s *served) loud() { s.api.noise = newLimiters(1e9, 1e9) }

// logged waits for a line about something. Lines up to then are forgotten.
func (s *served) logged(what string) {
	s.t.Helper()
	var lines string
	s.Until("a line in the log about "+what, func() bool {
		lines += s.log.take()
		return strings.Contains(lines, what)
	})
}

// told has the test fail if a method answers with a code that its description does not have.
func told(t testing.TB, s *Server) {
	var mu sync.Mutex
	odd := map[string]bool{}
	for name, do := range s.methods {
		m, _ := api.FindMethod(name)
		s.methods[name] = func(ctx context.Context, c *call, params json.RawMessage) (any, error) {
			result, err := do(ctx, c, params)
			var e *api.Error
			if errors.As(err, &e) && !slices.Contains(m.Errors, e.Code) &&
				!slices.Contains([]api.Code{api.InvalidParams, api.TooMany, api.Internal}, e.Code) {
				mu.Lock()
				odd[fmt.Sprintf("%s answers with %d: %s", name, e.Code, e.Message)] = true
				mu.Unlock()
			}
			return result, err
		}
	}
	t.Cleanup(func() {
		for what := range odd {
			t.Errorf("API.md does not say that %s", what)
		}
	})
}
