package server

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/pattern"
)

// secretsDir is in the data directory.
const secretsDir = "secrets"

const (
	tokensFile  = "tokens.json"
	tokenPrefix = "eid_"
	maxTokens   = 1000
	maxSecrets  = 1 << 20 // bytes of the file
)

// Token is the stored form of a token, without its secret.
type Token struct {
	Name          string   `json:"name"`
	Role          api.Role `json:"role"`
	Hash          string   `json:"sha256"`
	CreatedWallNS int64    `json:"created_wall_ns"`
	ExpiresWallNS int64    `json:"expires_wall_ns,omitempty"` // 0: never
}

// Expired reports whether a token's time is over.
func (t *Token) Expired(now time.Time) bool {
	return t.ExpiresWallNS != 0 && now.UnixNano() >= t.ExpiresWallNS
}

type tokensJSON struct {
	Version int     `json:"version"`
	Tokens  []Token `json:"tokens"`
}

// Tokens are those of a data directory. Another program may change them meanwhile, as eideticker
// serve token does: the file is read again when it is another one.
//
// A token is 160 random bits, so its plain SHA-256 is as hard to invert as it: a slow hash would
// only make asking slow.
type Tokens struct {
	path string

	mu   sync.Mutex
	read time.Time // when the file was looked at last
	stat os.FileInfo
	list []Token
}

// OpenTokens reads the tokens of a data directory; none are there at first.
func OpenTokens(dataDir string) (*Tokens, error) {
	dir := filepath.Join(dataDir, secretsDir)
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return nil, err
	}
	switch err := os.Mkdir(dir, 0o700); {
	case err == nil:
		if err := staging.Adopt(dir); err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrExist):
		return nil, err
	}
	t := &Tokens{path: filepath.Join(dir, tokensFile)}
	return t, t.refresh(time.Time{})
}

// Clean takes away what killed programs have left of files in the folder of secrets. Nobody who
// changes tokens is disturbed; the certificate is written by the rig that calls this.
func (t *Tokens) Clean() error {
	unlock, err := t.lock()
	if err != nil {
		return err
	}
	defer unlock()
	for _, name := range []string{tokensFile, certificateFile} {
		staging.CleanFile(filepath.Join(filepath.Dir(t.path), name))
	}
	return nil
}

// lookEvery is how often the file is looked at, at most.
const lookEvery = time.Second

// refresh reads the file if it may have changed. The mutex is held, or not needed yet.
func (t *Tokens) refresh(now time.Time) error {
	if !now.IsZero() && now.Sub(t.read).Abs() < lookEvery {
		return nil
	}
	err := t.look()
	if err == nil { // else it is looked at again
		t.read = now
	}
	return err
}

// look reads the file if it is another one.
func (t *Tokens) look() error {
	st, err := os.Stat(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		t.stat, t.list = nil, nil
		return nil
	}
	if err != nil {
		return err
	}
	if t.stat != nil && os.SameFile(st, t.stat) && st.ModTime().Equal(t.stat.ModTime()) && st.Size() == t.stat.Size() {
		return nil
	}
	if st.Size() > maxSecrets {
		return fmt.Errorf("%s has %d bytes, which none that was written here has", t.path, st.Size())
	}
	raw, err := os.ReadFile(t.path)
	if err != nil {
		return err
	}
	var all tokensJSON
	if err := json.Unmarshal(raw, &all); err != nil {
		return fmt.Errorf("read %s: %w", t.path, err)
	}
	t.stat, t.list = st, all.Tokens
	return nil
}

// All returns all stored tokens.
func (t *Tokens) All() ([]Token, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.refresh(time.Time{})
	return slices.Clone(t.list), err
}

var tokenName = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

// reserved are the names of owners without a token.
var reserved = []string{localOwner, "configuration"}

// Add makes a token. What it returns is not kept anywhere: it is seen this once.
func (t *Tokens) Add(name string, role api.Role, valid time.Duration, now time.Time) (string, error) {
	if !tokenName.MatchString(name) || slices.Contains(reserved, name) {
		return "", fmt.Errorf("token %.80q: must be 1 to 64 letters, digits and . _ @ -, not in %v", name, reserved)
	}
	if !slices.Contains(api.Roles(), role) {
		return "", fmt.Errorf("invalid role %.80q: must be one of %v", role, api.Roles())
	}
	unlock, err := t.lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	if slices.ContainsFunc(t.list, func(o Token) bool { return o.Name == name }) {
		return "", fmt.Errorf("there is a token %s already: remove it first, or choose another name", name)
	}
	if len(t.list) >= maxTokens {
		return "", fmt.Errorf("there are %d tokens already", maxTokens)
	}
	secret := tokenPrefix + strings.ToLower(rand.Text()) + strings.ToLower(rand.Text())[:8]
	added := Token{Name: name, Role: role, Hash: hashed(secret), CreatedWallNS: now.UnixNano()}
	if valid > 0 {
		added.ExpiresWallNS = now.Add(valid).UnixNano()
	}
	return secret, t.write(append(slices.Clone(t.list), added))
}

// Remove takes a token's rights away, from connections that are open too.
func (t *Tokens) Remove(name string) error {
	unlock, err := t.lock()
	if err != nil {
		return err
	}
	defer unlock()
	kept := slices.DeleteFunc(slices.Clone(t.list), func(o Token) bool { return o.Name == name })
	if len(kept) == len(t.list) {
		return fmt.Errorf("unknown token %.80q", name)
	}
	return t.write(kept)
}

// lock has nobody else change the tokens, in this program or another one, and reads them as they
// are.
func (t *Tokens) lock() (unlock func(), err error) {
	t.mu.Lock()
	folder, err := staging.LockFolder(filepath.Dir(t.path))
	if err != nil {
		t.mu.Unlock()
		return nil, err
	}
	unlock = func() {
		folder()
		t.mu.Unlock()
	}
	if err := t.refresh(time.Time{}); err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

func (t *Tokens) write(list []Token) error {
	raw, err := json.MarshalIndent(tokensJSON{1, list}, "", "  ")
	if err != nil {
		return err
	}
	if err := staging.WriteFileOfFolder(t.path, append(raw, '\n'), 0o600); err != nil {
		return err
	}
	t.stat = nil
	return t.refresh(time.Time{})
}

// check returns the token that is the one given, or why none is. All are compared, so that the time
// that it takes tells nothing.
func (t *Tokens) check(secret string, now time.Time) (Token, error) {
	sum := []byte(hashed(secret))
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.refresh(now); err != nil {
		return Token{}, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	var found *Token
	for i := range t.list {
		if subtle.ConstantTimeCompare(sum, []byte(t.list[i].Hash)) == 1 {
			found = &t.list[i]
		}
	}
	switch {
	case found == nil:
		return Token{}, errors.New("the token is not one of this rig's")
	case found.Expired(now):
		return Token{}, fmt.Errorf("the token %s has expired", found.Name)
	}
	return *found, nil
}

// valid returns a token as it is now, if it still is.
func (t *Tokens) valid(was Token, now time.Time) (Token, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.refresh(now); err != nil {
		return Token{}, false
	}
	for _, o := range t.list {
		if o.Name == was.Name && o.Hash == was.Hash && !o.Expired(now) {
			return o, true
		}
	}
	return Token{}, false
}

func hashed(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
