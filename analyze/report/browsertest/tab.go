package browsertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Tab is a page in a browser, and what went wrong in it.
type Tab struct {
	*testing.T
	Ctx context.Context // of the page; ends with the test, or when patience does

	allowed  func(url string) bool
	mu       sync.Mutex
	problems []string
}

// NewTab starts a browser and opens a tab, from which requests go to allowed addresses only; those
// of websockets are reported as http.
func NewTab(t *testing.T, patience time.Duration, allowed func(url string) bool) *Tab {
	t.Helper()
	b := &Tab{T: t, Ctx: Start(t, patience), allowed: allowed}
	b.Check(chromedp.Listen(b.Ctx, b.heard))
	_, err := chromedp.Call(b.Ctx, log.Enable, cdp.Empty{})
	b.Check(err)
	_, err = chromedp.Call(b.Ctx, network.Enable, network.EnableParams{})
	b.Check(err)
	return b
}

// heard notes what must not be.
func (b *Tab) heard(event any) {
	problem := ""
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		problem = fmt.Sprintf("console.%s", e.Type)
		for _, a := range e.Args {
			problem += fmt.Sprintf(" %s %s", a.Value, a.Description)
		}
	case *runtime.EventExceptionThrown:
		problem = "exception: " + e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			problem += " " + x.Description
		}
	case *log.EventEntryAdded:
		problem = fmt.Sprintf("log %s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL)
	case *network.EventRequestWillBeSent:
		if !b.allowed(e.Request.URL) {
			problem = "request of " + e.Request.URL
		}
	case *network.EventWebSocketCreated:
		if !b.allowed(strings.Replace(e.URL, "ws://", "http://", 1)) {
			problem = "websocket to " + e.URL
		}
	}
	if problem != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.problems = append(b.problems, problem)
	}
}

// Check ends the test on an error.
func (b *Tab) Check(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// Quiet fails the test if anything went wrong on the page but for what it has brought about itself:
// problems with one of some words in them.
func (b *Tab) Quiet(but ...string) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = slices.DeleteFunc(b.problems, func(problem string) bool {
		return slices.ContainsFunc(but, func(k string) bool { return strings.Contains(problem, k) })
	})
	for _, p := range b.problems {
		b.Error(p)
	}
}

// Do does something with the page.
func (b *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	b.Check(chromedp.Do(b.Ctx, actions...))
}

// Eval returns what a script comes to on the page.
func Eval[T any](b *Tab, script string) T {
	b.Helper()
	v, err := chromedp.Run(b.Ctx, chromedp.Evaluate[T](script))
	b.Check(err)
	return v
}

// Look makes the page light or dark, and so many pixels wide.
func (b *Tab) Look(scheme string, width int64) {
	b.Helper()
	_, err := chromedp.Call(b.Ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	b.Check(err)
	b.Do(chromedp.EmulateViewport(width, 900))
}
