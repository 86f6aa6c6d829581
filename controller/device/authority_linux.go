package device

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
)

// Authority is who makes the certificates of a test network. Browsers that are started with it
// trust what it signed, in their new profile and nowhere else: nothing of the machine changes.
//
// Chromium takes the hash of its key on the command line, and holds no certificate that was signed
// with it against anything else. Firefox takes the certificate by a policy, which it reads beside a
// copy of its program (see untrusted_linux.go).
type Authority struct {
	File    string // its certificate, PEM
	KeyHash string // SHA-256 of its public key in Base64
	// HTTP3 is spoken where servers offer it. Chromium trusts no authority of this kind for that
	// unless it is told to speak nothing else, so it does then. Firefox asks by TCP first, but for
	// hosts of which names say that they speak it (HTTPS records).
	HTTP3 bool
}

// chromiumTrusts are the arguments by which Chromium trusts an authority.
func chromiumTrusts(a *Authority) []string {
	args := []string{"--ignore-certificate-errors-spki-list=" + a.KeyHash}
	if a.HTTP3 {
		args = append(args, "--enable-quic", "--origin-to-force-quic-on=*")
	}
	return args
}

// firefoxTrusts returns the kind whose profile speaks HTTP/3 with servers of an authority, or does
// not, and the policy by which it trusts it.
func firefoxTrusts(k kind, a *Authority) (kind, string, error) {
	k.files = maps.Clone(k.files)
	// By itself it speaks no HTTP/3 as long as it trusts anybody but those who came with it.
	k.files["user.js"] += fmt.Sprintf(
		"user_pref(\"network.http.http3.enable\", %v);\nuser_pref(\"network.http.http3.disable_when_third_party_roots_found\", false);\n", a.HTTP3)
	if a.HTTP3 { // which it asks the system's names for, as by itself since 129
		k.files["user.js"] += "user_pref(\"network.dns.native_https_query\", true);\n"
	}
	file, err := filepath.Abs(a.File)
	if err != nil {
		return k, "", err
	}
	policy, err := json.Marshal(
		map[string]any{"policies": map[string]any{"Certificates": map[string]any{"Install": []string{file}}}})
	return k, string(policy), err
}

// together is two policies in one.
func together(a, b string) (string, error) {
	var x, y struct {
		Policies map[string]any `json:"policies"`
	}
	if a == "" {
		return b, nil
	}
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		return "", err
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		return "", err
	}
	maps.Copy(x.Policies, y.Policies)
	text, err := json.Marshal(x)
	return string(text), err
}
