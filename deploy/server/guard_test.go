package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/eideticker/eideticker/deploy/api"
)

const askStatus = `{"jsonrpc":"2.0","id":1,"method":"rig.status"}`

// Each row of the README's list of threats that is about who asks has rows here.
//
// Fault: A client without a valid token
// Fault: A token with too few rights
// Fault: A web page elsewhere that makes the browser call the rig
// Fault: DNS rebinding
// Fault: A request for profiles of the program
// Fault: Repeated attempts
func TestWhoMayAsk(t *testing.T) {
	t.Parallel()
	s := serve(t, func(o *Options) { o.Needed, o.Place = true, Place{Hosts: []string{"rig.example.org"}} })
	s.loud()
	now := time.Now()
	add := func(name string, role api.Role, valid time.Duration, now time.Time) string {
		t.Helper()
		secret, err := s.tokens.Add(name, role, valid, now)
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	view, run, admin := add("v", api.View, 0, now), add("r", api.Run, time.Hour, now), add("a", api.Admin, 0, now)
	old := add("o", api.Admin, time.Hour, now.Add(-2*time.Hour))
	deletes := `{"jsonrpc":"2.0","id":1,"method":"run.delete","params":{"run":"none"}}`
	starts := `{"jsonrpc":"2.0","id":1,"method":"run.start","params":{"test":"none"}}`
	sets := `{"jsonrpc":"2.0","id":1,"method":"network.set","params":{"job":"none","network":{"profile":"3g"}}}`
	for _, tc := range []struct {
		name, method, path, body, token string
		header                          []string
		want                            int
	}{
		{"no token", "POST", "/api/v1/rpc", askStatus, "", nil, 401},
		{"no token for a file", "GET", "/api/v1/runs/x/run.json", "", "", nil, 401},
		{"no token for metrics", "GET", "/metrics", "", "", nil, 401},
		{"no token for a websocket", "GET", "/api/v1/ws", "", "", nil, 401},
		{"no token to push", "POST", "/api/v1/runs", "", "", nil, 401},
		{"another scheme", "POST", "/api/v1/rpc", askStatus, "", []string{"Authorization", "Basic dTpw"}, 401},
		{"scheme in small letters", "POST", "/api/v1/rpc", askStatus, "", []string{"Authorization", "bearer " + view},
			200},
		{"scheme in capitals", "POST", "/api/v1/rpc", askStatus, "", []string{"Authorization", "BEARER  " + view}, 200},
		{"no scheme", "POST", "/api/v1/rpc", askStatus, "", []string{"Authorization", view}, 401},
		{"token in the address", "POST", "/api/v1/rpc?token=" + admin, askStatus, "", nil, 401},
		{"health needs none", "GET", "/healthz", "", "", nil, 200},
		{"the page needs none", "GET", "/", "", "", nil, 200},
		{"view", "POST", "/api/v1/rpc", askStatus, view, nil, 200},
		{"view may not start", "POST", "/api/v1/rpc", starts, view, nil, 403},
		{"view may not push", "POST", "/api/v1/runs", "", view, nil, 403},
		{"view may not change a network", "POST", "/api/v1/rpc", sets, view, nil, 403},
		{"run may change a network", "POST", "/api/v1/rpc", sets, run, nil, 404},
		{"run may start", "POST", "/api/v1/rpc", starts, run, nil, 404},
		{"run may not delete", "POST", "/api/v1/rpc", deletes, run, nil, 403},
		{"admin may delete", "POST", "/api/v1/rpc", deletes, admin, nil, 404},
		{"foreign host", "POST", "/api/v1/rpc", askStatus, admin, []string{"Host", "evil.example"}, 421},
		{"foreign host of the page", "GET", "/", "", "", []string{"Host", "evil.example:80"}, 421},
		{"own name", "POST", "/api/v1/rpc", askStatus, admin, []string{"Host", "rig.example.org:8430"}, 200},
		{"own name in capitals", "POST", "/api/v1/rpc", askStatus, admin, []string{"Host", "RIG.example.org"}, 200},
		{"localhost is not on the network", "POST", "/api/v1/rpc", askStatus, admin, []string{"Host", "localhost"},
			421},
		{"foreign origin", "POST", "/api/v1/rpc", askStatus, admin, []string{"Origin", "https://evil.example"}, 403},
		{"no origin at all", "POST", "/api/v1/rpc", askStatus, admin, []string{"Origin", "null"}, 403},
		{"origin of another port", "POST", "/api/v1/rpc", askStatus, admin, []string{"Origin", "http://127.0.0.1:1"},
			403},
		{"embedded in a foreign page", "GET", "/api/v1/runs/x/run.json", "", admin,
			[]string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}, 403},
		{"framed by a foreign page", "GET", "/", "", "", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode",
			"navigate", "Sec-Fetch-Dest", "iframe"}, 403},
		{"a link from a foreign page", "GET", "/", "", "", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode",
			"navigate", "Sec-Fetch-Dest", "document"}, 200},
		{"a form of a foreign page", "POST", "/api/v1/rpc", askStatus, admin, []string{"Content-Type", "text/plain"},
			415},
		{"profiles are not on the network", "GET", "/debug/pprof/", "", admin, nil, 200}, // it is the page that answers
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.token != "" {
				tc.header = append(tc.header, "Authorization", "Bearer "+tc.token)
			}
			s.log.take()
			res, text := s.ask(tc.method, tc.path, tc.body, tc.header...)
			if line := s.log.take(); tc.want >= 400 && !strings.Contains(line, "refused") ||
				strings.Contains(line, "eid_") {
				t.Errorf("the log has %q", line)
			}
			if res.StatusCode != tc.want || tc.want >= 400 && strings.TrimSpace(text) == "" {
				t.Errorf("%d %s, want %d and a sentence", res.StatusCode, text, tc.want)
			}
			if tc.want == 421 && !strings.HasPrefix(text, fmt.Sprintf("%q is not a name of this rig; ", tc.header[1])) {
				t.Errorf("%s", text)
			}
			if strings.HasPrefix(tc.path, "/debug") && text != "the page" {
				t.Errorf("profiles are told: %.80s", text)
			}
		})
	}
	if res, text := s.ask("POST", "/api/v1/rpc", askStatus, "Authorization", "Bearer "+old); res.StatusCode != 401 ||
		!strings.Contains(text, "expired") {
		t.Errorf("an expired token: %d %s", res.StatusCode, text)
	}
	s.logged("has expired")
	guesses := 0
	for range 10 {
		if res, _ := s.ask("POST", "/api/v1/rpc", askStatus, "Authorization",
			"Bearer eid_guess"); res.StatusCode == 429 {
			guesses++
		}
	}
	if guesses == 0 {
		t.Error("tokens can be guessed at any speed")
	}
	s.logged("status=429")
	if res, text := s.ask("POST", "/api/v1/rpc", askStatus, "Authorization", "Bearer "+view); res.StatusCode != 200 {
		t.Errorf("the right token, from where wrong ones came: %d %s", res.StatusCode, text)
	}
	if res, _ := s.ask("GET", "/healthz", ""); res.StatusCode != 200 {
		t.Errorf("after all that: %d", res.StatusCode)
	}
}

// Fault: DNS rebinding
// Fault: A request for profiles of the program
func TestLoopbackNeedsNoToken(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	for host, want := range map[string]int{"localhost:1": 200, "127.0.0.1": 200, "[::1]:80": 200, "192.0.2.1": 421,
		"rig.example.org": 421, "127.0.0.1.nip.io": 421, "": 200} {
		header := []string{"Host", host}
		if host == "" {
			header = nil
		}
		if res, _ := s.ask("POST", "/api/v1/rpc", askStatus, header...); res.StatusCode != want {
			t.Errorf("host %q: %d, want %d", host, res.StatusCode, want)
		}
	}
	if res, text := s.ask("GET", "/debug/pprof/cmdline", ""); res.StatusCode != 200 || text == "the page" {
		t.Errorf("no profiles on the loopback: %d %s", res.StatusCode, text)
	}
	if res, _ := s.ask("POST", "/api/v1/rpc", askStatus, "Authorization", "Bearer eid_wrong"); res.StatusCode != 401 {
		t.Errorf("a wrong token: %d", res.StatusCode)
	}
}

// Bug: a reverse proxy on the same box makes every client an admin.
//
// Fault: A client of a reverse proxy on the box
func TestForwardedIsNotLocal(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	secret, err := s.tokens.Add("v", api.View, 0, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "x-forwarded-proto", "X-Forwarded-Anything",
		"X-Real-IP", "Via"} {
		for _, value := range []string{"", "127.0.0.1"} {
			header := []string{name, value}
			if res, text := s.ask("POST", "/api/v1/rpc", askStatus, header...); res.StatusCode != 401 ||
				!strings.Contains(text, "token") {
				t.Errorf("%s %q without a token: %d %s", name, value, res.StatusCode, text)
			}
			if _, text := s.ask("GET", "/api/v1/login", "", header...); text != `{"needed":true,"role":"","owner":""}`+
				"\n" {
				t.Errorf("%s %q: login has %s", name, value, text)
			}
			if res, _ := s.ask("GET", "/healthz", "", header...); res.StatusCode != 200 {
				t.Errorf("%s %q: healthz has %d", name, value, res.StatusCode)
			}
			header = append(header, "Authorization", "Bearer "+secret)
			if res, text := s.ask("POST", "/api/v1/rpc", askStatus, header...); res.StatusCode != 200 ||
				!strings.Contains(text, `"role":"view"`) {
				t.Errorf("%s %q with a token: %d %s", name, value, res.StatusCode, text)
			}
		}
	}
	if _, res, err := s.dial("X-Forwarded-For", "192.0.2.1"); err == nil || res == nil || res.StatusCode != 401 {
		t.Errorf("a forwarded websocket: %v, %v", res, err)
	}
	admin, err := s.tokens.Add("a", api.Admin, 0, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if res, _ := s.ask("GET", "/debug/pprof/cmdline", "", "X-Forwarded-For", "127.0.0.1", "Authorization",
		"Bearer "+admin); res.StatusCode != 403 {
		t.Errorf("profiles for a forwarded request: %d", res.StatusCode)
	}
}

// A browser gets a cookie that scripts cannot read and other pages cannot send, and that ends with
// its token.
//
// Fault: A removed token on an open connection
// Fault: A web page elsewhere that makes the browser call the rig
func TestSession(t *testing.T) {
	t.Parallel()
	s := serve(t, func(o *Options) { o.Needed, o.Place = true, Place{Encrypted: true} })
	s.api.times.ping = 50 * time.Millisecond
	secret, err := s.tokens.Add("browser", api.Run, 0, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if res, _ := s.ask("POST", "/api/v1/login", `{"token": "eid_wrong"}`); res.StatusCode != 401 ||
		len(res.Cookies()) > 0 {
		t.Errorf("a wrong token: %d, %v", res.StatusCode, res.Cookies())
	}
	res, text := s.ask("POST", "/api/v1/login", `{"token": "`+secret+`"}`)
	if res.StatusCode != 200 || len(res.Cookies()) != 1 || !strings.Contains(text, `"role":"run"`) {
		t.Fatalf("%d %s", res.StatusCode, text)
	}
	c := res.Cookies()[0]
	if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteStrictMode || strings.Contains(secret, c.Value) ||
		c.MaxAge <= 0 {
		t.Errorf("%+v", c)
	}
	cookie := []string{"Cookie", c.Name + "=" + c.Value}
	if res, text := s.ask("POST", "/api/v1/rpc", askStatus, cookie...); res.StatusCode != 200 ||
		!strings.Contains(text, `"owner":"browser"`) {
		t.Errorf("%d %s", res.StatusCode, text)
	}
	conn := s.socket(append(cookie, "Origin", s.URL)...)
	if r := talk(t, conn, askStatus); r.Error != nil {
		t.Errorf("%+v", r.Error)
	}
	idle := s.socket(append(cookie, "Origin", s.URL)...)
	if err := s.tokens.Remove("browser"); err != nil {
		t.Fatal(err)
	}
	if _, text, err := idle.ReadMessage(); !websocket.IsCloseError(err, websocket.ClosePolicyViolation) {
		t.Errorf("the token is gone, and a websocket that asks for nothing is not: %s, %v", text, err)
	}
	if res, _ := s.ask("POST", "/api/v1/rpc", askStatus, cookie...); res.StatusCode != 401 {
		t.Errorf("the token is gone, and its session is not: %d", res.StatusCode)
	}
	_ = conn.WriteMessage(websocket.TextMessage, []byte(askStatus)) // it may be closed already
	if _, text, err := conn.ReadMessage(); err == nil {
		t.Errorf("the token is gone, and its websocket is not: %s", text)
	}
}

func TestLogout(t *testing.T) {
	t.Parallel()
	s := serve(t, func(o *Options) { o.Needed = true })
	secret, err := s.tokens.Add("browser", api.View, 0, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	res, _ := s.ask("POST", "/api/v1/login", `{"token": "`+secret+`"}`)
	cookie := res.Cookies()[0]
	if _, text := s.ask("GET", "/api/v1/login", "", "Cookie",
		cookie.Name+"="+cookie.Value); text != `{"needed":true,"role":"view","owner":"browser"}`+"\n" {
		t.Error(text)
	}
	s.ask("POST", "/api/v1/logout", "", "Cookie", cookie.Name+"="+cookie.Value)
	if _, text := s.ask("GET", "/api/v1/login", "", "Cookie",
		cookie.Name+"="+cookie.Value); text != `{"needed":true,"role":"","owner":""}`+"\n" {
		t.Error(text)
	}
}

// The stored form of a token does not reveal it, and only the owner can read the file.
//
// Fault: A reader of the rig's disk or backup
func TestTokens(t *testing.T) {
	dir := t.TempDir()
	a, err := OpenTokens(dir)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	secret, err := a.Add("ci", api.Run, 0, now)
	if err != nil {
		t.Fatal(err)
	}
	kept := readFile(t, a.path)
	if strings.Contains(kept, secret) || strings.Contains(kept, strings.TrimPrefix(secret, tokenPrefix)) {
		t.Error("the token is kept")
	}
	b, err := OpenTokens(dir) // another program
	if err != nil {
		t.Fatal(err)
	}
	if got, err := b.check(secret, now); err != nil || got.Name != "ci" || got.Role != api.Run {
		t.Errorf("%+v, %v", got, err)
	}
	if err := a.Remove("ci"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.check(secret, now.Add(2*lookEvery)); err == nil {
		t.Error("what another program has removed is still valid")
	}
	for _, bad := range []string{"", "a b", "-x", "../x", localOwner, strings.Repeat("a", 65)} {
		if _, err := a.Add(bad, api.Run, 0, now); err == nil {
			t.Errorf("a token is called %q", bad)
		}
	}
	if _, err := a.Add("x", "root", 0, now); err == nil {
		t.Error("there is a role of root")
	}
}
