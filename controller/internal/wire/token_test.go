package wire

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const secret Token = "correct horse battery staple"

func TestListen(t *testing.T) {
	for _, tc := range []struct {
		address string
		token   Token
		ok      bool
	}{
		{"127.0.0.1:0", "", true},
		{"[::1]:0", "", true},
		{"127.0.0.1:0", secret, true},
		{":0", "", false},
		{"0.0.0.0:0", "", false},
		{"[::]:0", "", false},
		{"192.0.2.1:0", "", false},
		{"0.0.0.0:0", secret, true},
		{"nonsense", secret, false},
	} {
		l, err := Listen(tc.address, tc.token)
		if l != nil {
			l.Close()
		}
		if tc.address == "[::1]:0" && err != nil && !strings.Contains(err.Error(), "token") {
			continue // no IPv6 here
		}
		if (err == nil) != tc.ok {
			t.Errorf("%s with token %q: %v", tc.address, tc.token, err)
		}
	}
}

func TestReadToken(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tc := range []struct {
		name, file, env string
		want            Token
		err             string
	}{
		{"file", write("good", string(secret)+"\r\n", 0o600), "x", secret, ""},
		{"group may read", write("group", string(secret), 0o640), "", secret, ""},
		{"all may read", write("open", string(secret), 0o644), "", "", "chmod"},
		{"short", write("short", "12345", 0o600), "", "", "from 16 to"},
		{"long", write("long", strings.Repeat("x", maxToken+100), 0o600), "", "", "from 16 to"},
		{"missing", filepath.Join(dir, "no"), "", "", "no such file"},
		{"environment", "", string(secret), secret, ""},
		{"bad environment", "", "12345", "", "$" + TokenVariable},
	} {
		t.Setenv(TokenVariable, tc.env)
		got, err := ReadToken(tc.file)
		if got != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %q, %v", tc.name, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "12345") {
			t.Errorf("%s: the error tells the token", tc.name)
		}
	}
	os.Unsetenv(TokenVariable)
	if got, err := ReadToken(""); got != "" || err != nil {
		t.Errorf("nothing set: %q, %v", got, err)
	}
}
