package observe

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Name is that of the cookie and of the parameter of links.
const Name = "eideticker"

const (
	buckets    = 1000
	cookieLife = 30 * 24 * time.Hour
	linkLife   = 7 * 24 * time.Hour
)

// kind is the treatment of a load.
type kind byte

const (
	untouched kind = 'n' // of a user outside of the share
	reporting kind = 'p' // plain, but reports its load time
	measured  kind = 'i' // instrumented
)

// user is the content of the cookie. It tells groups of users apart, not users.
type user struct {
	bucket   int  // 0 to buckets - 1
	selected bool // by a link
	refused  bool // by a link
	load     kind // the last one
}

// userOf returns the user of a request. A new user gets a random bucket, and so does one with a
// cookie that the observer did not sign.
func (o *Observer) userOf(r *http.Request) user {
	if c, err := r.Cookie(Name); err == nil {
		group, rest, _ := strings.Cut(c.Value, ".")
		load, _, _ := strings.Cut(rest, ".")
		if !hmac.Equal([]byte(c.Value), []byte(signed(o.key, group+"."+load))) {
			group = ""
		}
		u := user{selected: group == "on", refused: group == "off", load: untouched}
		if slices.Contains([]string{string(untouched), string(reporting), string(measured)}, load) {
			u.load = kind(load[0])
		}
		if u.bucket, err = strconv.Atoi(group); u.selected || u.refused || err == nil && u.bucket >= 0 &&
			u.bucket < buckets {
			return u
		}
	}
	return user{bucket: random(buckets), load: untouched}
}

// random returns a number from 0 to n - 1.
func random(n int64) int {
	i, err := rand.Int(rand.Reader, big.NewInt(n))
	if err != nil {
		panic(err) // as rand.Text does
	}
	return int(i.Int64())
}

func (u user) String() string {
	switch {
	case u.selected:
		return "on." + string(u.load)
	case u.refused:
		return "off." + string(u.load)
	}
	return strconv.Itoa(u.bucket) + "." + string(u.load)
}

// keep sets the cookie, if it changed.
func (o *Observer) keep(u user, w http.ResponseWriter, r *http.Request) {
	value := signed(o.key, u.String())
	if c, err := r.Cookie(Name); err == nil && c.Value == value {
		return
	}
	http.SetCookie(w, &http.Cookie{Name: Name, Value: value, Path: "/", MaxAge: int(cookieLife / time.Second),
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteLaxMode})
}

// withoutCookie removes the cookie from a request for the application.
func withoutCookie(h http.Header) {
	all := h.Values("Cookie")
	h.Del("Cookie")
	for _, line := range all {
		var kept []string
		for part := range strings.SplitSeq(line, ";") {
			if part = strings.TrimSpace(part); part != "" && !strings.HasPrefix(part, Name+"=") {
				kept = append(kept, part)
			}
		}
		if len(kept) > 0 {
			h.Add("Cookie", strings.Join(kept, "; "))
		}
	}
}

// link returns the code of a link that selects its user until a time.
func link(key []byte, until time.Time) string {
	seconds := strconv.FormatInt(until.Unix(), 10)
	return seconds + "-" + mac(key, seconds)
}

// signed returns a cookie with its signature. Equal ones have equal signatures.
func signed(key []byte, cookie string) string { return cookie + "." + mac(key, "cookie "+cookie) }

func mac(key []byte, text string) string {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(text)) // a hash never fails
	return strings.ToLower(base32.StdEncoding.EncodeToString(m.Sum(nil)[:15]))
}

// checkLink checks the code of a link.
func checkLink(key []byte, code string, now time.Time) error {
	seconds, _, _ := strings.Cut(code, "-")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || !hmac.Equal([]byte(link(key, time.Unix(n, 0))), []byte(code)) {
		return fmt.Errorf("link %.60q: unknown code", code)
	}
	if now.Unix() > n {
		return fmt.Errorf("link %.60q: it has expired", code)
	}
	return nil
}

// isDocument reports whether a request loads a page.
func isDocument(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodPost || r.Header.Get("Upgrade") != "" {
		return false
	}
	if use := r.Header.Get("Sec-Fetch-Dest"); use != "" {
		return use == "document"
	}
	return strings.Contains(r.Header.Get("Accept"), "text/html") && r.Header.Get("X-Requested-With") == ""
}
