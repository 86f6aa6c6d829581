// Package enroll decides which rigs belong to a hub.
//
// An [Authority] has the hub's keys, its invitations and its list of rigs, as files of one folder.
// Each change is on the disk before its method returns. NATS checks the rights that it signs.
package enroll

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/pattern"
)

const (
	inviteTime  = time.Hour
	rightsTime  = 90 * 24 * time.Hour
	renewTime   = 24 * time.Hour
	maxInvites  = 1000
	maxRigs     = 4096
	maxStored   = 8 << 20 // bytes of the state file
	operatorKey = "operator.seed"
	signingKey  = "signing.seed"
	stateFile   = "state.json"
)

// Errors of a rig's requests.
var (
	errInvitation = errors.New("the invitation is unknown, used or expired; ask for a new one")
	errRemoved    = errors.New("the rig does not belong to this hub; ask for an invitation")
)

// Authority decides for one hub. Its methods may be called at the same time. One process has it.
type Authority struct {
	Fingerprint string // of the hub's certificate; set it before the first invitation

	dir               string
	operator, signing nkeys.KeyPair

	mu      sync.Mutex
	state   state
	offered map[string]time.Time // renewals by rig, since the start
}

// Member is a rig of the fleet.
type Member struct {
	Rig    string    `json:"rig"`
	Key    string    `json:"key"` // public
	Joined time.Time `json:"joined"`
}

type state struct {
	Account     string               `json:"account"` // public key
	Invitations []invitation         `json:"invitations"`
	Rigs        map[string]Member    `json:"rigs"`
	Revoked     map[string]time.Time `json:"revoked"` // keys, until their rights would have expired
}

type invitation struct {
	Hash    string    `json:"sha256"` // of the secret
	Rig     string    `json:"rig"`
	Expires time.Time `json:"expires"`
	Key     string    `json:"key,omitempty"` // of the rig that has used it
}

var rigForm = pattern.New(`^[A-Za-z0-9-]{1,32}$`)

// Init makes the keys of a new hub in a folder that must not exist. They get the owner of the
// folder above it, since root may call Init for a service.
func Init(dir string) (*Authority, error) {
	fail := func(err error) (*Authority, error) { return nil, fmt.Errorf("make a hub in %s: %w", dir, err) }
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return fail(cmp.Or(err, error(fs.ErrExist)))
	}
	if err := makeParents(filepath.Dir(dir)); err != nil {
		return fail(err)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".fleet-*")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(tmp) // it is gone after the rename
	if err := staging.Adopt(tmp); err != nil {
		return fail(err)
	}
	account, err := nkeys.CreateAccount()
	if err != nil {
		return fail(err)
	}
	public, err := account.PublicKey() // the operator and the signing key do all that its seed could
	if err != nil {
		return fail(err)
	}
	for name, create := range map[string]func() (nkeys.KeyPair, error){
		operatorKey: nkeys.CreateOperator, signingKey: nkeys.CreateAccount,
	} {
		pair, err := create()
		if err != nil {
			return fail(err)
		}
		seed, err := pair.Seed()
		if err == nil {
			err = staging.WriteFileOfFolder(filepath.Join(tmp, name), seed, 0o600)
		}
		if err != nil {
			return fail(err)
		}
	}
	if err := (&Authority{dir: tmp}).change(state{Account: public}); err != nil {
		return fail(err)
	}
	if err := os.Rename(tmp, dir); err != nil {
		return fail(err)
	}
	return Open(dir)
}

// makeParents makes a folder and those above it, with the owner of the one that is there.
func makeParents(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
		if err := makeParents(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	} else if err != nil {
		return err
	}
	return staging.Adopt(dir)
}

// Open reads a hub's keys. On a machine without a hub the error wraps fs.ErrNotExist.
func Open(dir string) (*Authority, error) {
	a := &Authority{dir: dir, offered: map[string]time.Time{}}
	fail := func(err error) (*Authority, error) { return nil, fmt.Errorf("open the hub's keys: %w", err) }
	for name, pair := range map[string]*nkeys.KeyPair{operatorKey: &a.operator, signingKey: &a.signing} {
		seed, err := readSecret(filepath.Join(dir, name), 100)
		if err != nil {
			return fail(err)
		}
		if *pair, err = nkeys.FromSeed(seed); err != nil {
			return fail(fmt.Errorf("%s: %w", name, err))
		}
	}
	content, err := readSecret(filepath.Join(dir, stateFile), maxStored)
	if err != nil {
		return fail(err)
	}
	if err := json.Unmarshal(content, &a.state); err != nil {
		return fail(fmt.Errorf("%s: %w", stateFile, err))
	}
	if !nkeys.IsValidPublicAccountKey(a.state.Account) {
		return fail(fmt.Errorf("%s has no account", stateFile))
	}
	return a, nil
}

// readSecret reads a file that only its owner may read.
func readSecret(path string, most int64) ([]byte, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > most {
		return nil, fmt.Errorf("%s: not a file of at most %d bytes", path, most)
	}
	if runtime.GOOS != "windows" && st.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s: others may read it; chmod 600 it", path)
	}
	return os.ReadFile(path)
}

// change stores a new state and makes it the present one.
func (a *Authority) change(s state) error {
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := staging.WriteFileOfFolder(filepath.Join(a.dir, stateFile), content, 0o600); err != nil {
		return err
	}
	a.state = s
	return nil
}

// copyState returns a copy of the state without expired entries. The caller has the lock.
func (a *Authority) copyState(now time.Time) state {
	s := a.state
	s.Invitations = slices.DeleteFunc(slices.Clone(s.Invitations),
		func(i invitation) bool { return !now.Before(i.Expires) })
	s.Rigs, s.Revoked = maps.Clone(s.Rigs), maps.Clone(s.Revoked)
	maps.DeleteFunc(s.Revoked,
		func(_ string, at time.Time) bool { return now.After(at.Add(rightsTime + 24*time.Hour)) })
	if s.Rigs == nil {
		s.Rigs = map[string]Member{}
	}
	if s.Revoked == nil {
		s.Revoked = map[string]time.Time{}
	}
	return s
}

// Invite returns a token by which a rig may join under a name within an hour. A rig that has the
// name loses it when another joins.
func (a *Authority) Invite(rig string, now time.Time) (token string, expires time.Time, err error) {
	if !rigForm.MatchString(rig) {
		return "", expires, fmt.Errorf("invite %.40q: a name has 1 to 32 letters, digits or -", rig)
	}
	t, err := newToken(a.Fingerprint)
	if err != nil {
		return "", expires, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.copyState(now)
	if len(s.Invitations) >= maxInvites || len(s.Rigs) >= maxRigs {
		return "", expires, fmt.Errorf("invite %s: %d invitations and %d rigs are too many", rig,
			len(s.Invitations), len(s.Rigs))
	}
	expires = now.Add(inviteTime)
	s.Invitations = append(s.Invitations, invitation{Hash: hash(t.Secret), Rig: rig, Expires: expires})
	if err := a.change(s); err != nil {
		return "", expires, fmt.Errorf("invite %s: %w", rig, err)
	}
	return t.String(), expires, nil
}

func hash(secret [32]byte) string {
	sum := sha256.Sum256(secret[:])
	return hex.EncodeToString(sum[:])
}

// Join binds a rig's public key to the name of its invitation and returns its rights. The same key
// may use an invitation again, since the answer may have been lost. Other invitations of the name
// end, so that a forgotten one does not replace the rig.
func (a *Authority) Join(token, key string, now time.Time) (rig, rights string, err error) {
	t, err := ParseToken(token)
	if err != nil {
		return "", "", err
	}
	if !nkeys.IsValidPublicUserKey(key) {
		return "", "", fmt.Errorf("join: %.60q is not a rig's public key", key)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.copyState(now)
	found, wanted := -1, hash(t.Secret)
	for i, in := range s.Invitations {
		if subtle.ConstantTimeCompare([]byte(in.Hash), []byte(wanted)) == 1 {
			found = i
		}
	}
	if found < 0 || s.Invitations[found].Key != "" && s.Invitations[found].Key != key {
		return "", "", fmt.Errorf("join: %w", errInvitation)
	}
	rig = s.Invitations[found].Rig
	if _, revoked := s.Revoked[key]; revoked {
		return "", "", fmt.Errorf("join as %s: the rig's key was removed; make a new one", rig)
	}
	for _, m := range s.Rigs {
		if m.Key == key && m.Rig != rig {
			return "", "", fmt.Errorf("join as %s: the key belongs to %s; make a new one", rig, m.Rig)
		}
	}
	if old, ok := s.Rigs[rig]; !ok || old.Key != key {
		if ok {
			s.Revoked[old.Key] = now
		}
		s.Rigs[rig] = Member{rig, key, now}
	}
	s.Invitations[found].Key = key
	s.Invitations = slices.DeleteFunc(s.Invitations, func(i invitation) bool { return i.Rig == rig && i.Key == "" })
	if rights, err = a.rights(rig, key, now); err == nil {
		err = a.change(s)
	}
	if err != nil {
		return "", "", fmt.Errorf("join as %s: %w", rig, err)
	}
	return rig, rights, nil
}

// Renew returns new rights of a rig. They are due once a day: rights last 90 days, so a lost answer
// is harmless.
func (a *Authority) Renew(rig, key string, now time.Time) (rights string, due bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if m, ok := a.state.Rigs[rig]; !ok || m.Key != key {
		return "", false, fmt.Errorf("renew the rights of %.40q: %w", rig, errRemoved)
	}
	if last := a.offered[rig]; now.Sub(last) < renewTime && !now.Before(last) {
		return "", false, nil
	}
	if rights, err = a.rights(rig, key, now); err != nil {
		return "", false, err
	}
	a.offered[rig] = now
	return rights, true, nil
}

// Revoke removes a rig, its invitations and the rights of its key. The bus then has to disconnect
// it. It may be repeated: a rig that is not there has no rights.
func (a *Authority) Revoke(rig string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now() // NATS compares revocations with the system's clock
	s := a.copyState(now)
	if m, ok := s.Rigs[rig]; ok {
		s.Revoked[m.Key] = now
	}
	delete(s.Rigs, rig)
	s.Invitations = slices.DeleteFunc(s.Invitations, func(i invitation) bool { return i.Rig == rig })
	if err := a.change(s); err != nil {
		return fmt.Errorf("remove %s: %w", rig, err)
	}
	delete(a.offered, rig)
	return nil
}

// Rigs returns the rigs by name.
func (a *Authority) Rigs() []Member {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.SortedFunc(maps.Values(a.state.Rigs), func(x, y Member) int { return cmp.Compare(x.Rig, y.Rig) })
}
