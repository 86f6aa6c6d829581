package enroll

import (
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
)

const certificate = "00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF"

var start = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func open(t *testing.T, dir string) *Authority {
	t.Helper()
	a, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	a.Fingerprint = certificate
	return a
}

func newAuthority(t *testing.T) (*Authority, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "secrets", "fleet")
	if _, err := Init(dir); err != nil {
		t.Fatal(err)
	}
	return open(t, dir), dir
}

func newKey(t *testing.T) string {
	t.Helper()
	_, public, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return public
}

func invite(t *testing.T, a *Authority, rig string) string {
	t.Helper()
	token, expires, err := a.Invite(rig, start)
	if err != nil || !expires.Equal(start.Add(time.Hour)) {
		t.Fatalf("invite %s: until %v, %v", rig, expires, err)
	}
	return token
}

func TestInitOnce(t *testing.T) {
	_, dir := newAuthority(t)
	if _, err := Init(dir); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second hub in one folder: %v", err)
	}
	if _, err := Open(dir + "2"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open without a hub: %v", err)
	}
	left, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(left) != 1 {
		t.Errorf("beside the hub: %v, %v", left, err)
	}
	for _, name := range []string{operatorKey, signingKey, stateFile} {
		path := filepath.Join(dir, name)
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, st, err)
		}
		if err := os.Chmod(path, 0o640); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "others may read it") {
			t.Errorf("%s is readable by others: %v", name, err)
		}
		if err := errors.Join(os.WriteFile(path, []byte("{}"), 0o600), os.Chmod(path, 0o600)); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); err == nil {
			t.Errorf("%s was replaced and is accepted", name)
		}
		dir = filepath.Join(t.TempDir(), "fleet")
		if _, err := Init(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// Fault: An invitation is used twice, late or by another rig
//
// Only the first rig joins, and it may
// repeat its request after a lost answer.
func TestJoin(t *testing.T) {
	a, dir := newAuthority(t)
	token, first, second := invite(t, a, "lab-07"), newKey(t), newKey(t)
	content, err := os.ReadFile(filepath.Join(dir, stateFile))
	parsed, perr := ParseToken(token)
	secret := base64.RawURLEncoding.EncodeToString(parsed.Secret[:])
	if err != nil || perr != nil || strings.Contains(string(content), secret) ||
		strings.Contains(string(content), token) {
		t.Fatalf("the secret is on the disk (%v, %v)", err, perr)
	}
	for i, tc := range []struct {
		token, key string
		after      time.Duration
		want       string // "" for success
	}{
		{invite(t, a, "other")[:50], first, 0, "it has 50 of"},
		{Token{}.String(), first, 0, "unknown"},
		{token, "UABC", 0, "public key"},
		{token, a.Account(), 0, "public key"},
		{token, first, 59 * time.Minute, ""},
		{token, first, 59 * time.Minute, ""},
		{token, second, 59 * time.Minute, "used"},
		{token, first, time.Hour, "expired"},
		{token, first, 0, ""}, // the clock was set back
	} {
		a = open(t, dir) // each change survives a restart
		rig, rights, err := a.Join(tc.token, tc.key, start.Add(tc.after))
		if tc.want != "" {
			if err == nil || !strings.Contains(err.Error(), tc.want) || rights != "" {
				t.Errorf("join %d: %v, want %q", i, err, tc.want)
			}
			continue
		}
		c, derr := jwt.DecodeUserClaims(rights)
		if err != nil || derr != nil || rig != "lab-07" || c.Subject != tc.key || c.Name != rig {
			t.Fatalf("join %d: %s, %v, %v", i, rig, err, derr)
		}
		if c.Pub.Allow.Contains(">") || strings.Join(c.Pub.Allow, " ") != "rig.lab-07.>" ||
			strings.Join(c.Sub.Allow, " ") != "hub.lab-07.>" || c.Expires != start.Add(tc.after+rightsTime).Unix() {
			t.Errorf("join %d: rights %+v until %d", i, c.Permissions, c.Expires)
		}
	}
	if rigs := a.Rigs(); len(rigs) != 1 || rigs[0].Key != first {
		t.Errorf("rigs: %+v", rigs)
	}
}

// TestRevoke: a removed rig cannot come back by its key, its invitation or a renewal.
func TestRevoke(t *testing.T) {
	a, dir := newAuthority(t)
	token, key := invite(t, a, "lab-07"), newKey(t)
	if _, _, err := a.Join(token, key, start); err != nil {
		t.Fatal(err)
	}
	if err := a.Revoke("lab-07"); err != nil {
		t.Fatal(err)
	}
	a = open(t, dir)
	if err := a.Revoke("lab-07"); err != nil {
		t.Errorf("again: %v", err)
	}
	text, err := a.AccountJWT()
	claims, derr := jwt.DecodeAccountClaims(text)
	if err != nil || derr != nil || !claims.IsClaimRevoked(&jwt.UserClaims{ClaimsData: jwt.ClaimsData{Subject: key,
		IssuedAt: time.Now().Unix()}}) {
		t.Errorf("the account does not revoke the key: %v, %v", err, derr)
	}
	if _, _, err := a.Join(token, key, start); !errors.Is(err, errInvitation) {
		t.Errorf("join by the old invitation: %v", err)
	}
	if _, _, err := a.Join(invite(t, a, "lab-07"), key, start); err == nil {
		t.Error("the removed key joined again")
	}
	if _, _, err := a.Renew("lab-07", key, start); !errors.Is(err, errRemoved) {
		t.Errorf("renewal: %v", err)
	}
	other := newKey(t)
	if _, _, err := a.Join(invite(t, a, "lab-07"), other, start); err != nil {
		t.Errorf("another key under the name: %v", err)
	}
	if _, _, err := a.Join(invite(t, a, "lab-08"), other, start); err == nil {
		t.Error("one key joined under two names")
	}
	if _, _, err := a.Join(invite(t, a, "lab-07"), newKey(t), start); err != nil {
		t.Errorf("a new key takes the name: %v", err)
	}
	if _, _, err := a.Renew("lab-07", other, start); !errors.Is(err, errRemoved) {
		t.Errorf("renewal of the replaced key: %v", err)
	}
}

// The answer with renewed rights is lost. The next day's poll renews again, long before the
// rights end.
func TestRenew(t *testing.T) {
	a, _ := newAuthority(t)
	key := newKey(t)
	if _, _, err := a.Join(invite(t, a, "lab-07"), key, start); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		after time.Duration
		due   bool
	}{{0, true}, {time.Minute, false}, {23 * time.Hour, false}, {24 * time.Hour, true}, {25 * time.Hour, false},
		{80 * 24 * time.Hour, true}, {time.Hour, true}} {
		rights, due, err := a.Renew("lab-07", key, start.Add(tc.after))
		if err != nil || due != tc.due || (rights != "") != due {
			t.Errorf("after %v: due %v, %v", tc.after, due, err)
		}
	}
}

// Fault: Only a part of the invitation's line is copied
//
// The rig says so before it asks the hub.
func TestParseToken(t *testing.T) {
	token, err := newToken(certificate)
	if err != nil {
		t.Fatal(err)
	}
	text := token.String()
	if got, err := ParseToken(text); err != nil || got != token || !strings.HasPrefix(got.Fingerprint(), "001122") {
		t.Errorf("%v, %v", got, err)
	}
	changed := []byte(text)
	if changed[40] = 'A'; text[40] == 'A' {
		changed[40] = 'B'
	}
	for name, tc := range map[string]struct{ text, want string }{
		"empty":      {"", "0 of 92 letters"},
		"truncated":  {text[:91], "91 of 92 letters"},
		"longer":     {text + "A", "93 of 92 letters"},
		"one letter": {string(changed), "a letter was changed"},
		"line end":   {text[:90] + "\n" + text[91:], "letters that do not belong"},
		"version":    {"Ag" + text[2:], "version 2 is unknown"},
	} {
		if _, err := ParseToken(tc.text); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := newToken("0011"); err == nil {
		t.Error("a short fingerprint was accepted")
	}
}

// TestInvitedTwice: a rig was invited twice. The second invitation does not replace the rig.
func TestInvitedTwice(t *testing.T) {
	a, _ := newAuthority(t)
	first, second, other := invite(t, a, "lab-07"), invite(t, a, "lab-07"), invite(t, a, "lab-08")
	if _, _, err := a.Join(first, newKey(t), start); err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.Join(second, newKey(t), start); !errors.Is(err, errInvitation) {
		t.Errorf("join by the second invitation: %v", err)
	}
	if _, _, err := a.Join(other, newKey(t), start); err != nil {
		t.Error(err)
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add("")
	f.Add(Token{}.String())
	f.Add(strings.Repeat("A", 92))
	f.Add(strings.Repeat("\n", 92))
	f.Fuzz(func(t *testing.T, text string) {
		if token, err := ParseToken(text); err == nil && token.String() != text {
			t.Errorf("%q is read as %q", text, token)
		}
	})
}
