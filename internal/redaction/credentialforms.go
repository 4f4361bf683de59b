// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package redaction

import (
	"strings"
	"unicode"
)

const (
	// minRandom is the length in bytes from which on a text may be a random key under any name, and
	// minWeak under the name of a key. A longer text than maxRandom is a file.
	minRandom, minWeak, maxRandom = 32, 16, 512
	// minChanges is the share of neighbours of different classes in random base64: small letters, capital
	// letters, digits and signs. Of random bytes it is 64 %, of words in camel case less than 30 %.
	minChanges = 0.4
	// minPrefixed is the length of the shortest text with a token that is known by its start.
	minPrefixed = 20
	// minBody is how many characters a private key or the signature of a token has at least.
	minBody = 16
)

// prefixed is the form of a credential that starts with a certain text.
type prefixed struct {
	what, prefix string
	// more is the least number of characters that follow: letters, digits and the signs.
	more  int
	signs string
}

// prefixes returns the forms of credentials that start with a certain text. docs/spec/policies.md has the
// same list.
func prefixes() []prefixed {
	return []prefixed{
		{"an access key of AWS", "AKIA", 16, ""},
		{"an access key of AWS", "ASIA", 16, ""},
		{"a token of GitHub", "ghp_", 30, ""},
		{"a token of GitHub", "gho_", 30, ""},
		{"a token of GitHub", "ghu_", 30, ""},
		{"a token of GitHub", "ghs_", 30, ""},
		{"a token of GitHub", "ghr_", 30, ""},
		{"a token of GitHub", "github_pat_", 30, "_"},
		{"a token of GitLab", "glpat-", 20, "_-"},
		{"a token of Slack", "xoxb-", 20, "-"},
		{"a token of Slack", "xoxp-", 20, "-"},
		{"a token of Slack", "xapp-", 20, "-"},
		{"a webhook of Slack", "hooks.slack.com/services/", 20, "/"},
		{"a key of Google", "AIza", 35, "_-"},
		{"a key of Stripe", "sk_live_", 20, ""},
		{"a key of Stripe", "rk_live_", 20, ""},
		{"a key of SendGrid", "SG.", 40, "_-."},
		{"a token of npm", "npm_", 30, ""},
		{"a token of Docker", "dckr_pat_", 20, "_-"},
		{"a token of DigitalOcean", "dop_v1_", 60, ""},
		{"a token of Vault", "hvs.", 20, "_-"},
		{"a token of PyPI", "pypi-AgE", 30, "_-"},
		{"a key of age", "AGE-SECRET-KEY-1", 50, ""},
		{"a private key in base64", "IBADANBgkqhkiG9w0BAQEFAASC", 20, "+/"},
	}
}

// form returns what a text or a part of it is by its form; empty if it is none of the forms.
func form(text string) string {
	switch {
	case hasPrivateKey(text):
		return "a private key"
	case hasWebToken(text):
		return "a JSON Web Token"
	case hasPassword(text):
		return "a URL with a password"
	case hasHeader(text):
		return "a header with credentials"
	}
	if len(text) < minPrefixed {
		return ""
	}
	for _, f := range prefixes() {
		if has(text, f) {
			return f.what
		}
	}
	return ""
}

// after calls is with each rest of a text that follows a mark, until is returns true. The time is linear
// if is reads a bounded part.
func after(text, mark string, is func(before byte, rest string) bool) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], mark)
		if i < 0 {
			return false
		}
		before := byte(' ')
		if at+i > 0 {
			before = text[at+i-1]
		}
		at += i + len(mark)
		if is(before, text[at:]) {
			return true
		}
	}
}

// run returns the number of letters, digits and signs that a text starts with, at most max.
func run(text, signs string, maximum int) int {
	n := 0
	for n < len(text) && n < maximum && (isWord(text[n]) || strings.IndexByte(signs, text[n]) >= 0) {
		n++
	}
	return n
}

// isWord reports whether a byte is a letter or a digit.
func isWord(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}

func has(text string, f prefixed) bool {
	return after(text, f.prefix, func(before byte, rest string) bool {
		inWord := isWord(before) && !strings.Contains(f.prefix, "IBADAN")
		return !inWord && run(rest, f.signs, f.more) == f.more
	})
}

// hasPrivateKey reports whether a text has a private key in PEM. The head alone, or before a template, is
// none.
func hasPrivateKey(text string) bool {
	return after(text, "-----BEGIN ", func(_ byte, rest string) bool {
		label, body, found := strings.Cut(rest[:min(len(rest), 200)], "-----")
		if !found || !strings.Contains(label, "PRIVATE KEY") {
			return false
		}
		body = strings.TrimLeftFunc(strings.ReplaceAll(body, `\n`, "\n"), unicode.IsSpace)
		return run(body, "+/=:-, \n", minBody) == minBody
	})
}

// hasWebToken reports whether a text has a JSON Web Token: three parts in base64, of which the first one
// starts like an object in JSON.
func hasWebToken(text string) bool {
	const longest = 4 << 10
	return after(text, "eyJ", func(before byte, rest string) bool {
		if isWord(before) || before == '_' || before == '-' {
			return false // in a run that was read before
		}
		head := run(rest, "_-", longest)
		if head < minBody || !strings.HasPrefix(rest[head:], ".eyJ") {
			return false
		}
		rest = rest[head+1:]
		body := run(rest, "_-", longest)
		return strings.HasPrefix(rest[body:], ".") && run(rest[body+1:], "_-", minBody) == minBody
	})
}

// hasPassword reports whether a text has a URL with a password that is no reference.
func hasPassword(text string) bool {
	const longest = 4 << 10
	return after(text, "://", func(_ byte, rest string) bool {
		rest = rest[:min(len(rest), longest)]
		if end := strings.IndexAny(rest, "/?# \t\r\n\"'<>`"); end >= 0 {
			rest = rest[:end]
		}
		at := strings.LastIndexByte(rest, '@')
		if at < 0 {
			return false
		}
		// A missing one is a reference.
		_, password, _ := strings.Cut(rest[:at], ":")
		return !isReference(password)
	})
}

// hasHeader reports whether a text has the credentials of a header of HTTP.
func hasHeader(text string) bool {
	bearer := func(_ byte, rest string) bool {
		return run(rest, "._-+/=~", minCredentials) == minCredentials && strings.ContainsAny(rest[:minCredentials], "0123456789")
	}
	basic := func(_ byte, rest string) bool {
		plain, ok := decode(rest[:run(rest, "+/=_-", maxEncoded)])
		return ok && strings.Contains(plain, ":") && !isReference(plain)
	}
	return after(text, "Bearer ", bearer) || after(text, "Basic ", basic)
}

// isRandom reports whether a text of at least n bytes is a key of random bytes in hexadecimal or base64. A
// UUID is not, nor is a text in one case.
func isRandom(text string, n int) bool {
	if len(text) < n || len(text) > maxRandom {
		return false
	}
	var lower, upper, digits, letters, others, changes int
	last := 0
	for i := range len(text) {
		class := 0
		switch b := text[i]; {
		case b >= '0' && b <= '9':
			class = 1
			digits++
		case b >= 'a' && b <= 'z':
			class = 2
			lower++
			if b <= 'f' {
				letters++
			}
		case b >= 'A' && b <= 'Z':
			class = 3
			upper++
			if b <= 'F' {
				letters++
			}
		case b == '+' || b == '/' || b == '_' || b == '-':
			class = 4
			others++
		case b == '=' && strings.Trim(text[i:], "=") == "":
			class = last
		default:
			return false
		}
		if i > 0 && class != last {
			changes++
		}
		last = class
	}
	if digits > 0 && letters > 0 && digits+letters == len(text) && (lower == 0 || upper == 0) {
		return true
	}
	return digits > 0 && lower > 0 && upper > 0 && float64(changes) >= minChanges*float64(len(text)-1)
}
