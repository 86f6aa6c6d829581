package serve

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/eideticker/eideticker/capture/timeline"
)

// serveEvents sends server-sent events at their times, and ends with the last.
func (p *Pages) serveEvents(w http.ResponseWriter, r *http.Request, rule *Rule, head timeline.Time) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	if rule.CacheControl != "" {
		h.Set("Cache-Control", rule.CacheControl)
	}
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	control := http.NewResponseController(w)
	_ = control.Flush()
	for _, e := range rule.Events {
		if p.pacer.wait(r.Context(), head.Add(e.At)) != nil {
			panic(http.ErrAbortHandler)
		}
		if _, err := w.Write(e.text()); err != nil {
			panic(http.ErrAbortHandler)
		}
		_ = control.Flush()
	}
}

// text is an event as it is sent. Each line of its data is one of its own.
func (e *Event) text() []byte {
	var b strings.Builder
	if e.Name != "" {
		fmt.Fprintf(&b, "event: %s\n", e.Name)
	}
	if e.ID != "" {
		fmt.Fprintf(&b, "id: %s\n", e.ID)
	}
	data := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(e.Data)
	for line := range strings.SplitSeq(data, "\n") {
		fmt.Fprintf(&b, "data: %s\n", line)
	}
	b.WriteString("\n")
	return []byte(b.String())
}

const maxMessage = 1 << 20 // bytes that a websocket takes at once

const closePatience = 10 * time.Second

// serveWebSocket echoes and sends until either side ends it.
func (p *Pages) serveWebSocket(w http.ResponseWriter, r *http.Request, rule *Rule) {
	if !websocket.IsWebSocketUpgrade(r) {
		w.Header().Set("Upgrade", "websocket")
		refuse(w, http.StatusUpgradeRequired, fmt.Errorf("at %.300q there is a websocket, and nothing else",
			r.URL.Path))
		return
	}
	head := began(w).Add(rule.Latency)
	if p.pacer.wait(r.Context(), head) != nil {
		panic(http.ErrAbortHandler)
	}
	// The test world has no secrets, so any page may speak to any host of it.
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true },
		Error: func(w http.ResponseWriter, _ *http.Request, status int, reason error) {
			refuse(w, status, fmt.Errorf("no websocket: %w", reason))
		}}
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		return // the client was told
	}
	defer conn.Close()
	conn.SetReadLimit(maxMessage)
	// which ends with the connection's being taken over
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	var writing sync.Mutex
	var sending sync.WaitGroup
	defer sending.Wait()
	defer cancel()
	ws := rule.WebSocket
	sending.Go(func() {
		for _, m := range ws.Sends {
			if p.pacer.wait(ctx, head.Add(m.At)) != nil {
				return
			}
			writing.Lock()
			err := conn.WriteMessage(websocket.TextMessage, []byte(m.Text))
			writing.Unlock()
			if err != nil {
				return
			}
		}
		if ws.Close == 0 || p.pacer.wait(ctx, head.Add(ws.Close)) != nil {
			return
		}
		_ = conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""),
			time.Now().Add(time.Second))
		_ = conn.SetReadDeadline(time.Now().Add(closePatience)) // for the client's word that it is over
	})
	for {
		kind, b, err := conn.ReadMessage()
		if err != nil {
			return
		}
		if !ws.Echo {
			continue
		}
		writing.Lock()
		err = conn.WriteMessage(kind, b)
		writing.Unlock()
		if err != nil {
			return
		}
	}
}
