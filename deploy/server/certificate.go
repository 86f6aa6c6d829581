package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
)

const (
	certificateFile = "tls.pem" // certificate and key
	certificateTime = 10 * 365 * 24 * time.Hour
)

// OwnCertificate returns the rig's self-made certificate. It makes one if it is missing or nearly
// expired. Only its fingerprint can be checked.
func OwnCertificate(dataDir string, hosts []string, now time.Time) (tls.Certificate, error) {
	dir := filepath.Join(dataDir, secretsDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return tls.Certificate{}, err
	}
	path := filepath.Join(dir, certificateFile)
	cert, err := tls.LoadX509KeyPair(path, path)
	if err == nil && now.Before(cert.Leaf.NotAfter.Add(-30*24*time.Hour)) {
		return cert, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cert, fmt.Errorf("read the rig's certificate %s: %w; remove it to have another one made", path, err)
	}
	content, err := makeCertificate(hosts, now)
	if err != nil {
		return cert, fmt.Errorf("make a certificate: %w", err)
	}
	if err := staging.WriteFile(path, content, 0o600); err != nil {
		return cert, err
	}
	return tls.X509KeyPair(content, content)
}

func makeCertificate(hosts []string, now time.Time) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	name, err := os.Hostname()
	if err != nil {
		name = "eideticker"
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name, Organization: []string{"Eideticker rig"}},
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.Add(certificateTime), // a clock may be behind
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		DNSNames:              append([]string{name, "localhost"}, hosts...), IPAddresses: addresses(),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...), nil
}

// addresses are those that the machine has now.
func addresses() (all []net.IP) {
	found, err := net.InterfaceAddrs()
	if err != nil {
		return []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	for _, a := range found {
		if n, is := a.(*net.IPNet); is {
			all = append(all, n.IP)
		}
	}
	return all
}
