package device

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
)

// Authority makes the certificates of a test network. Browsers that are started with it trust its
// certificates, in their new profile only. The machine does not change.
//
// Chromium takes the hash of its key on the command line, and accepts any certificate signed with
// it. Firefox takes the certificate by a policy, which it reads beside a copy of its program (see
// untrusted_linux.go).
type Authority struct {
	File    string // its certificate, PEM
	KeyHash string // SHA-256 of its public key in Base64
	// HTTP3 is used if servers offer it. Chromium trusts such an authority for HTTP/3 only if it is
	// forced to HTTP/3, so it is. Firefox first uses TCP, except for hosts whose names announce
	// HTTP/3 (HTTPS records).
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

// firefoxTrusts returns the kind with HTTP/3 on or off for servers of an authority, and the policy
// that trusts it.
func firefoxTrusts(k kind, a *Authority) (kind, string, error) {
	k.files = maps.Clone(k.files)
	// By default it does not use HTTP/3 while it trusts any added authority.
	k.files["user.js"] += fmt.Sprintf(
		"user_pref(\"network.http.http3.enable\", %v);\n"+
			"user_pref(\"network.http.http3.disable_when_third_party_roots_found\", false);\n", a.HTTP3)
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
