// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package redaction

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// TestRedactQuotedForms: a secret is redacted in every form in which texts quote it, on lines of
// its own and inside of encoded text.
func TestRedactQuotedForms(t *testing.T) {
	const odd = "Yp4Vogl\"\\<&>\tWm81 Bird"
	for _, secret := range []string{"c4nary-0f-a-secret", odd, "first-line-7\n" + odd} {
		forms := []string{secret, strconv.Quote(secret), strconv.QuoteToASCII(secret), url.QueryEscape(secret), url.PathEscape(secret)}
		asJSON, err := json.Marshal(secret)
		if err != nil {
			t.Fatal(err)
		}
		forms = append(forms, string(asJSON), strconv.Quote(string(asJSON)))
		for before := range 4 {
			text := []byte(strings.Repeat("a", before) + secret + "bb")
			forms = append(forms, base64.StdEncoding.EncodeToString(text), base64.RawURLEncoding.EncodeToString(text))
		}
		for _, form := range forms {
			got := New([]string{secret}).Text("it says " + form + " there")
			if !strings.Contains(got, "***") || !strings.HasPrefix(got, "it says ") || !strings.HasSuffix(got, " there") || strings.Contains(got, "Yp4Vogl") || len(got) > 60 {
				t.Errorf("%q becomes %q", form, got)
			}
		}
	}
	if got := New([]string{"abcd"}).Text("eGFiY2R4 stays"); got != "eGFiY2R4 stays" {
		t.Errorf("a short secret was redacted inside of encoded text: %s", got)
	}
}

// TestRedactKeepsLines: a line break after a secret is not redacted.
func TestRedactKeepsLines(t *testing.T) {
	t.Parallel()
	if got := New([]string{"first-line\nsecond-line\n"}).Text("the key:\nfirst-line\nsecond-line\n\nand more"); got != "the key:\n***\n\nand more" {
		t.Errorf("got %q", got)
	}
}

// TestParts: the parts of structured values are secret, and keys, common words and short texts are
// not.
func TestParts(t *testing.T) {
	t.Parallel()
	encoded := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	cases := map[string]struct {
		value string
		want  []string // besides the value
	}{
		"Word":         {"hunter22", nil},
		"Quoted":       {`'quoted one'`, []string{"quoted one"}},
		"YAML":         {"db:\n  password: hunter22\n  ports: [5432, 12345678]\n  tls: true\n  mode: none\n  pin: abc\n", []string{"12345678", "1.2345678e+07", "hunter22"}},
		"Documents":    {"a: first-one\n---\nb: second-one\n", []string{"first-one", "second-one"}},
		"Comments":     {"# old: hunter22\na: first-one # was hunter33\n", []string{"first-one", "hunter22", "old: hunter22", "was hunter33"}},
		"Alias":        {"a: &x hunter22\nb: *x\n", []string{"hunter22"}},
		"Block":        {"key: |\n  line one\n  x\n", []string{"line one", "line one\nx"}},
		"JSON":         {`{"a":{"password":"hunter\u0032\"2"}}`, []string{`hunter2"2`}},
		"Twice":        {`{"a":"{\"b\":\"hunter22\"}"}`, []string{`{"b":"hunter22"}`, "hunter22"}},
		"BigNumber":    {"pin: 98765432109876543210\n", []string{"98765432109876543210", "9.876543210987654e+19", "98765432109876543488"}},
		"Env":          {"# access\nexport USER=bird1\nPASSWORD=\"hun\\tter22\"\nPORT=5432\nDEBUG=TRUE\n", []string{"# access", "DEBUG=TRUE", "PASSWORD=\"hun\\tter22\"", "PORT=5432", "bird1", "export USER=bird1", "hun\tter22"}},
		"Properties":   {"db.user = bird1\ndb.password = hunter22\n", []string{"bird1", "db.password = hunter22", "db.user = bird1", "hunter22"}},
		"Fields":       {"host=db user=bird1 password='hunter22'", []string{"bird1", "bird1 password='hunter22", "db user=bird1 password='hunter22", "host=db user=bird1 password='hunter22", "hunter22", "password='hunter22"}},
		"Semicolons":   {"Server=db;Password=hunter22;", []string{"db;Password=hunter22", "hunter22"}},
		"URL":          {"postgres://bird1:hunter22@db.prod:5432/app?sslmode=require&token=a%2Bb%3Dc", []string{"a%2Bb%3Dc", "a+b=c", "bird1", "hunter22"}},
		"EscapedURL":   {"amqp://bird1:hun%40ter22@mq", []string{"bird1", "hun%40ter22", "hun@ter22"}},
		"InvalidURL":   {"amqp://bird1:hunt/er2#2@mq", []string{"bird1", "hunt", "hunt/er2#2"}},
		"URLs":         {"amqp://bird1:hunter22@a,amqp://bird1:hunter33@b", []string{"bird1", "hunter22", "hunter33"}},
		"URLInProse":   {"see https://example.com/?sig=hunter22 and <amqp://bird1:hunter33@b>", []string{"bird1", "hunter22", "hunter33"}},
		"NoPassword":   {"https://example.com:8080/path@1?x=1", nil},
		"DockerConfig": {`{"auths":{"ghcr.io":{"auth":"` + encoded("bird1:hunter22") + `"}}}`, []string{"bird1", "bird1:hunter22", encoded("bird1:hunter22"), "hunter22"}},
		"Basic":        {"Basic " + encoded("bird1:hunter22"), []string{"bird1", "bird1:hunter22", encoded("bird1:hunter22"), "hunter22"}},
		"EncodedYAML":  {encoded("password: hunter22\n"), []string{"hunter22", "password: hunter22"}},
		"PEM":          {"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq+x/\n-----END PRIVATE KEY-----\n", []string{"MIIEvQIBADANBgkq+x/"}},
		"Kubeconfig":   {"users: [{name: bird1, user: {token: hunter22}}]\n", []string{"bird1", "hunter22"}},
		"Invalid":      {"password: [hunter22\n\"token\": \"hunter33\",\n", []string{"\"token\": \"hunter33\",", "hunter33", "password: [hunter22", "[hunter22"}},
		"CommonWord":   {"Password", nil},
		"Short":        {"abc", nil},
		"ShortNumber":  {"-12.3", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Rules{}.parts([]string{tc.value})
			got = slices.DeleteFunc(got, func(s string) bool { return s == strings.TrimSpace(tc.value) })
			slices.Sort(got)
			slices.Sort(tc.want)
			if diff := cmp.Diff(tc.want, got); diff != "" && len(tc.want)+len(got) > 0 {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestDepth: a value is read up to a depth, and once.
func TestDepth(t *testing.T) {
	t.Parallel()
	read := 0
	value := "hunter22"
	for range maxDepth + 1 {
		value = base64.StdEncoding.EncodeToString([]byte(value))
	}
	r := Rules{}.Redactor(func() []string {
		read++
		return []string{value, base64.StdEncoding.EncodeToString([]byte("x" + value))}
	})
	for range 3 {
		if got := r.Text("it is hunter22"); got != "it is ***" {
			t.Errorf("%d levels: %q", maxDepth+1, got)
		}
	}
	deeper := base64.StdEncoding.EncodeToString([]byte(value))
	if got := New([]string{deeper}).Text("it is hunter22"); got != "it is hunter22" || read != 1 {
		t.Errorf("%d levels: %q, and read %d times", maxDepth+2, got, read)
	}
}

// TestCostlyValues: no value takes a time that is not about linear in its size, which would exceed
// the time limit of the suite.
func TestCostlyValues(t *testing.T) {
	t.Parallel()
	size := 1 << 20
	if testing.Short() {
		size = 1 << 16
	}
	for _, unit := range []string{"a=", "a:", "a: ", "://", "://a?b=", "a=b;", "a=\n", "aaaa=bbbb\n", "[", "{a: ", "- ", "#\n", "YWFh", "? ", "&a *a ", "%41", "\"", "a@", "://u:p@h/?a=b&", "a\r", "---\n"} {
		parts := Rules{}.parts([]string{strings.Repeat(unit, size/len(unit))})
		t.Logf("%q: %d parts", unit, len(parts))
	}
}

// TestRules: texts that are too short or kept are not secret, in any document.
func TestRules(t *testing.T) {
	t.Parallel()
	r := Rules{MinText: 8, Kept: []string{"some-release"}}.Redactor(func() []string { return []string{"a: [first-one, short, some-release]"} })
	if got, want := r.Text("first-one short some-release"), "*** short some-release"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestProse: short and common words stay where a message has them.
func TestProse(t *testing.T) {
	t.Parallel()
	r := New([]string{"a", "yes", "TRUE", "password", "1234", "enabled: true\nname: none\nmode: Require\n"})
	const text = "a password is required: yes, true or none, at port 12345, or Require"
	if got := r.Text(text); got != text {
		t.Errorf("got %q", got)
	}
}

// TestCommonWords: docs/security.md lists the words that are left.
func TestCommonWords(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(page), "- in upper or lower case:")
	list, _, _ = strings.Cut(list, "(`TestProse`)")
	want := slices.Sorted(maps.Keys(commonWords()))
	if got := strings.Fields(strings.NewReplacer("`", "", ",", "").Replace(list)); !slices.Equal(got, want) {
		t.Errorf("the page lists %v, and the words are %v", got, want)
	}
}

// TestTooManyParts: with more secrets than can be searched for, no text is shown.
func TestTooManyParts(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	for i := range maxForms/2 + 100 {
		fmt.Fprintf(&lines, "k%d=value-%d\n", i, i)
	}
	for name, value := range map[string]string{"parts": lines.String(), "bytes": strings.Repeat("x", maxFormBytes/5+1)} {
		if got := New([]string{value}).Text("it says value-7"); got != withheld {
			t.Errorf("too many %s: %q", name, got)
		}
		if n := len(Rules{}.parts([]string{value})); n > maxForms+1 {
			t.Errorf("%d parts", n)
		}
	}
}

// TestCutSecret: of a long secret that was cut, as much is replaced as there is.
func TestCutSecret(t *testing.T) {
	t.Parallel()
	secret := strings.Repeat("0123456789abcdef", 20) + "ü" + strings.Repeat("x", 100)
	for _, end := range []int{maxHead, 100, 321, len(secret)} {
		if got := New([]string{secret}).Text("it says " + secret[:end] + " there"); strings.TrimPrefix(strings.ReplaceAll(got, "\uFFFD", ""), "it says ") != "*** there" {
			t.Errorf("%d bytes: %q", end, got)
		}
	}
	if got := New([]string{secret}).Text(secret[:maxHead-1]); got != secret[:maxHead-1] {
		t.Errorf("a shorter part: %q", got)
	}
}

// naive replaces the longest form at each place, in quadratic time.
func naive(all []string, text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		n := 0
		for _, form := range all {
			if len(form) <= maxHead && strings.HasPrefix(text[i:], form) {
				n = max(n, len(form))
			}
		}
		if n > 0 {
			b.WriteString(Mask)
			i += n
			continue
		}
		b.WriteByte(text[i])
		i++
	}
	return b.String()
}

// FuzzMatcher: the matcher replaces the same as a plain search.
func FuzzMatcher(f *testing.F) {
	f.Add("abcd", "abcdef", "bcde", "xabcdefxbcdebcdabcd")
	f.Add("aaaa", "aaaaa", "aaab", "aaaaaaaaaabaaaa")
	f.Fuzz(func(t *testing.T, a, b, c, text string) {
		var secrets []string
		for _, s := range []string{a, b, c} {
			if len(s) >= minText && len(s) < 10 {
				secrets = append(secrets, s)
			}
		}
		m := newMatcher(secrets)
		if got, want := m.replace(text), naive(m.forms, text); got != want {
			t.Errorf("%q in %q: %q, want %q", secrets, text, got, want)
		}
	})
}

// FuzzRedactor: a password is found wherever a structured value has it, and texts do not have to
// be valid.
func FuzzRedactor(f *testing.F) {
	f.Add("hunter22", "", "x")
	f.Add("p@ss:w/ord#\"7\\", "a: [", "\xff---\n")
	f.Fuzz(func(t *testing.T, password, before, after string) {
		asJSON, err := json.Marshal(map[string]any{"a": []any{map[string]string{"password": password}}})
		if err != nil || len(strings.TrimSpace(password)) < 8 || strings.ContainsAny(password, "*\uFFFD") || strings.ToValidUTF8(password, "") != password ||
			strings.ContainsFunc(password, unicode.IsControl) || number(password) || commonWords()[strings.ToLower(password)] || strings.TrimSpace(password) != password {
			return
		}
		structured := []string{
			string(asJSON), "a: " + string(asJSON), "url: postgres://" + url.UserPassword("u", password).String() + "@h/?a=b", "mysql://h/?p=" + url.QueryEscape(password) + "&x=y",
			base64.StdEncoding.EncodeToString(asJSON), "A=b\nP=" + strconv.Quote(password) + "\n", fmt.Sprintf("a: |\n  {\"p\": %q}\n", asJSON),
		}
		for _, value := range structured {
			got := New([]string{before, value, after}).Text("it says " + password + " there")
			if strings.Contains(got, password) && got != withheld {
				t.Errorf("with %q: %q", value, got)
			}
		}
		// Any value is read without a panic.
		New([]string{before + password + after}).Text(after + password + before)
	})
}

func BenchmarkParts(b *testing.B) {
	var all strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&all, "key%d: {user: bird%d, url: \"amqp://u%d:p%d-x@h/\"}\n", i, i, i, i)
	}
	b.SetBytes(int64(all.Len()))
	for b.Loop() {
		if New([]string{all.String()}).Text("x") == withheld {
			b.Fatal("too many")
		}
	}
}

// BenchmarkText: the time is linear in the text, even if it almost has a secret at each place.
func BenchmarkText(b *testing.B) {
	var many []string
	for i := range 20_000 {
		many = append(many, fmt.Sprintf("secret-value-%d", i))
	}
	long := []string{strings.Repeat("a", 1<<20) + "b"}
	for n := range 1000 {
		long = append(long, strings.Repeat("a", n+4)+"b")
	}
	for name, bc := range map[string]struct {
		secrets []string
		text    string
	}{
		"Usual": {many[:20], strings.Repeat("the Deployment is not ready ", 1<<15)}, "Many": {many, strings.Repeat("secret-value-x ", 1<<16)},
		"Alike": {long, strings.Repeat(strings.Repeat("a", 62)+"c", 1<<14)},
	} {
		b.Run(name, func(b *testing.B) {
			r := New(bc.secrets)
			r.Text("x")
			b.SetBytes(int64(len(bc.text)))
			for b.Loop() {
				r.Text(bc.text)
			}
		})
	}
}
