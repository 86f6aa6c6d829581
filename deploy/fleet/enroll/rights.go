package enroll

import (
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// maxSubscriptions are those of a rig: wake and inbox, twice during a change.
const maxSubscriptions = 8

// NewKey makes a rig's key. The seed stays on the rig.
func NewKey() (seed []byte, public string, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, "", err
	}
	if public, err = pair.PublicKey(); err != nil {
		return nil, "", err
	}
	seed, err = pair.Seed()
	return seed, public, err
}

// Operator returns the public key that the hub's NATS server trusts.
func (a *Authority) Operator() (string, error) { return a.operator.PublicKey() }

// Account returns the public key of the hub's account.
func (a *Authority) Account() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state.Account
}

// AccountJWT returns the account with its present revocations.
func (a *Authority) AccountJWT() (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := jwt.NewAccountClaims(a.state.Account)
	c.Name = "fleet"
	signer, err := a.signing.PublicKey()
	if err != nil {
		return "", err
	}
	c.SigningKeys.Add(signer)
	c.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit,
		Streams: jwt.NoLimit, Consumer: jwt.NoLimit} // the server has the quota
	for key := range a.state.Revoked {
		c.RevokeAt(key, time.Now().Add(24*time.Hour)) // a revoked key never comes back
	}
	return c.Encode(a.operator)
}

// System makes an account that the NATS server needs for itself. Nobody has its key.
func (a *Authority) System() (account, text string, err error) {
	pair, err := nkeys.CreateAccount()
	if err != nil {
		return "", "", err
	}
	if account, err = pair.PublicKey(); err != nil {
		return "", "", err
	}
	c := jwt.NewAccountClaims(account)
	c.Name = "system"
	text, err = c.Encode(a.operator)
	return account, text, err
}

// User returns the rights and the seed of the hub's own connection. They are new at each call.
func (a *Authority) User() (rights, seed string, err error) {
	key, public, err := NewKey()
	if err != nil {
		return "", "", err
	}
	c := jwt.NewUserClaims(public)
	c.Name, c.IssuerAccount = "the hub", a.Account() // not the name of any rig
	rights, err = c.Encode(a.signing)
	return rights, string(key), err
}

// rights signs what a rig may do. It publishes below its name, and it receives what the hub sends
// to its name. The caller has the lock.
func (a *Authority) rights(rig, key string, now time.Time) (string, error) {
	c := jwt.NewUserClaims(key)
	c.Name, c.IssuerAccount, c.Expires = rig, a.state.Account, now.Add(rightsTime).Unix()
	c.Pub.Allow.Add(wire.RigSubject(rig, ">"))
	c.Sub.Allow.Add("hub." + rig + ".>")
	c.Limits.Subs, c.Limits.Payload = maxSubscriptions, wire.MaxMessage
	c.AllowedConnectionTypes.Add(jwt.ConnectionTypeWebsocket)
	return c.Encode(a.signing)
}
