package serve

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	// AuthorityFile is the certificate of an authority in its folder, which devices are made to
	// trust.
	AuthorityFile = "eideticker-authority.pem"

	authorityKeyFile = "eideticker-authority.key" // and its certificate, so that the two are of one piece
	authorityLife    = 10 * 365 * 24 * time.Hour
	leafLife         = 90 * 24 * time.Hour
	leafRenewed      = 30 * 24 * time.Hour // before it ends
	clocksDiffer     = 24 * time.Hour      // between rig and device, at most
	maxKeyFile       = 64 << 10
	maxLeaves        = 4096
)

// Authority makes certificates for any name. Whoever trusts it trusts whoever has its key: it is
// for devices under test, and its key stays on the rig.
type Authority struct {
	folder string
	root   *x509.Certificate
	key    *ecdsa.PrivateKey
	leaf   *ecdsa.PrivateKey // of all certificates that it makes, so that they are made quickly
	now    func() time.Time

	mu     sync.Mutex
	leaves map[string]*tls.Certificate
}

// OpenAuthority opens the authority in a folder, and makes folder and authority if there are none.
func OpenAuthority(folder string) (*Authority, error) {
	a := &Authority{folder: folder, now: time.Now, leaves: map[string]*tls.Certificate{}}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("open authority: %w", err)
	}
	path := filepath.Join(folder, authorityKeyFile)
	err := a.load(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = a.create(path); err == nil {
			err = a.load(path) // another program may have been faster
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open authority: %w", err)
	}
	if a.leaf, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, fmt.Errorf("open authority: %w", err)
	}
	if had, err := os.ReadFile(a.File()); err != nil || !bytes.Equal(had, a.PEM()) {
		if err := writeFile(a.File(), a.PEM(), 0o644, os.Rename); err != nil {
			return nil, fmt.Errorf("open authority: %w", err)
		}
	}
	return a, nil
}

// File is where the certificate is that devices are made to trust.
func (a *Authority) File() string { return filepath.Join(a.folder, AuthorityFile) }

// PEM is that certificate.
func (a *Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.root.Raw})
}

// Fingerprint is the SHA-256 of the certificate, as browsers show it: hexadecimal, with colons.
func (a *Authority) Fingerprint() string {
	sum := sha256.Sum256(a.root.Raw)
	var parts []string
	for _, b := range sum {
		parts = append(parts, strings.ToUpper(hex.EncodeToString([]byte{b})))
	}
	return strings.Join(parts, ":")
}

// KeyHash is the SHA-256 of the authority's public key (SubjectPublicKeyInfo) in Base64: what
// Chromium takes with --ignore-certificate-errors-spki-list.
func (a *Authority) KeyHash() string {
	sum := sha256.Sum256(a.root.RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// load reads key and certificate.
func (a *Authority) load(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return err
	} else if secretShown(info) {
		return fmt.Errorf("%s is readable by others, who could impersonate any site; chmod 600 or delete it", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return err
	}
	return a.parse(path, data)
}

// parse takes key and certificate out of a file's text.
func (a *Authority) parse(path string, data []byte) (err error) {
	a.key, a.root = nil, nil
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case "PRIVATE KEY":
			key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			a.key, _ = key.(*ecdsa.PrivateKey)
		case "CERTIFICATE":
			if a.root, err = x509.ParseCertificate(block.Bytes); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	switch {
	case a.key == nil || a.root == nil:
		return fmt.Errorf("%s has no key and certificate of this program; delete it to make a new one", path)
	case !a.root.IsCA || !a.key.PublicKey.Equal(a.root.PublicKey):
		return fmt.Errorf("key and certificate in %s do not match; delete it to make a new one",
			path)
	case a.now().After(a.root.NotAfter.Add(-leafLife)):
		return fmt.Errorf("the certificate in %s ended on %s; delete it, and install the new one on devices",
			path, a.root.NotAfter.Format(time.DateOnly))
	}
	return nil
}

// create makes key and certificate, unless another does at the same time.
func (a *Authority) create(path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := newSerial()
	if err != nil {
		return err
	}
	host, _ := os.Hostname()
	root := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{Organization: []string{"Eideticker"},
			CommonName: strings.TrimSpace("Eideticker test network " + host + " " + serial.Text(16)[:6])},
		NotBefore: a.now().Add(-clocksDiffer), NotAfter: a.now().Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage:    x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	cert, err := x509.CreateCertificate(rand.Reader, root, root, &key.PublicKey, key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	data := append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}),
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})...)
	err = writeFile(path, data, 0o600, os.Link) // of two at a time, the first counts
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// writeFile makes a file appear whole, by a way to give a file another name.
func writeFile(path string, data []byte, mode fs.FileMode, place func(from, to string) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".authority-*") // with mode 600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if mode != 0o600 {
		if err := os.Chmod(f.Name(), mode); err != nil {
			return err
		}
	}
	return place(f.Name(), path)
}

func newSerial() (*big.Int, error) {
	b := make([]byte, 16)
	if _, err := rand.Read(b); err != nil {
		return nil, err
	}
	b[0] = b[0]&0x7f | 0x40 // positive, and always as long
	return new(big.Int).SetBytes(b), nil
}

// CertificateFor is [tls.Config].GetCertificate: the certificate of the name that is asked for, or
// of the address if none is.
func (a *Authority) CertificateFor(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := hello.ServerName
	if name == "" && hello.Conn != nil {
		if host, _, err := net.SplitHostPort(hello.Conn.LocalAddr().String()); err == nil {
			name = host
		}
	}
	return a.Certificate(name)
}

// Certificate returns a certificate for a host name or an IP address, made on the first request. It
// is valid for 90 days, from a day ago, since a device's clock may be behind.
func (a *Authority) Certificate(name string) (*tls.Certificate, error) {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	address, notAddress := netip.ParseAddr(name)
	if notAddress != nil && !hostNameValid(name) {
		return nil, fmt.Errorf("%.300q is not a name of a host", name)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	if c := a.leaves[name]; c != nil && now.Before(c.Leaf.NotAfter.Add(-leafRenewed)) {
		return c, nil
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	leaf := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{Organization: []string{"Eideticker"}},
		NotBefore: now.Add(-clocksDiffer), NotAfter: now.Add(leafLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	if notAddress == nil {
		leaf.IPAddresses = []net.IP{address.Unmap().WithZone("").AsSlice()}
	} else {
		leaf.DNSNames = []string{name}
	}
	made, err := x509.CreateCertificate(rand.Reader, leaf, a.root, &a.leaf.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParseCertificate(made)
	if err != nil {
		return nil, err
	}
	if len(a.leaves) >= maxLeaves {
		for other := range a.leaves { // any
			delete(a.leaves, other)
			break
		}
	}
	// The root is included, as in the chains of real sites. So browsers that trust its key by a
	// flag find it.
	c := &tls.Certificate{Certificate: [][]byte{made, a.root.Raw}, PrivateKey: a.leaf, Leaf: parsed}
	a.leaves[name] = c
	return c, nil
}

// hostNameValid holds a name against RFC 1123, with underscores, which some hosts have.
func hostNameValid(name string) bool {
	if name == "" || len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
				return false
			}
		}
	}
	return true
}
