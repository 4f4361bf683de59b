// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package redaction

import (
	"slices"
	"strings"
	"unicode"
)

// names returns the ends of the names of credentials. docs/spec/policies.md has this list and the
// following ones. An end that starts with "=" is a whole word.
func names() []string {
	return []string{
		"password", "passwd", "passphrase", "=pass", "=pwd", "token", "apikey", "apisecret", "appsecret", "clientsecret",
		"consumersecret", "cookiesecret", "jwtsecret", "sessionsecret", "sharedsecret", "webhooksecret", "signingsecret",
		"secretaccesskey", "accountkey", "sharedaccesskey", "masterkey", "licensekey",
	}
}

// weakNames returns the ends of names that may also be of references, such as the name of a Secret or
// of a file. They count with a value that looks random.
func weakNames() []string {
	return []string{"secret", "secretkey", "accesskey", "privatekey", "encryptionkey", "signingkey", "=key", "=auth", "credentials", "=salt", "cookie"}
}

// references returns the ends of names of references. Below them, names and random texts pass.
func references() []string {
	return []string{
		"secretref", "secretrefs", "keyref", "remoteref", "secretname", "secretnames", "secretkeys", "valuefrom", "envfrom", "fromsecret", "fromsecrets",
	}
}

// identities returns the ends of names of texts that only look random.
func identities() []string {
	return []string{
		"digest", "checksum", "=sha", "sha1", "sha224", "sha256", "sha384", "sha512", "hash", "commit", "revision", "fingerprint", "thumbprint", "integrity",
		"etag", "uuid", "guid", "image", "=tag", "=ref", "version", "=id", "cert", "certificate", "=crt", "cabundle", "=ca", "publickey",
	}
}

// key is the name of a value.
type key struct {
	// joined are the words of the name in lower case without separators, and last is the last one.
	joined, last string
	// reference is true if this key or one above it is the name of a reference.
	reference bool
	// listed is true for an element of a list, whose key may be a plural.
	listed bool
}

// keyOf returns a name as a key. Digits at its end do not count, as in password2, unless they are of a
// digest.
func keyOf(name string) key {
	words := wordsOf(name)
	k := key{joined: strings.Join(words, "")}
	if len(words) > 0 {
		k.last = words[len(words)-1]
	}
	if trimmed := strings.TrimRight(k.joined, "0123456789"); !strings.HasSuffix(trimmed, "sha") {
		k.joined, k.last = trimmed, strings.TrimRight(k.last, "0123456789")
	}
	k.reference = k.is(references()) || strings.Contains(k.joined, "existing") || strings.HasPrefix(k.joined, "encrypted")
	return k
}

// is reports whether the name has one of the ends.
func (k key) is(ends []string) bool {
	return slices.ContainsFunc(ends, func(end string) bool {
		if whole, is := strings.CutPrefix(end, "="); is {
			return k.last == whole || k.listed && k.last == whole+"s"
		}
		return strings.HasSuffix(k.joined, end) || k.listed && strings.HasSuffix(k.joined, end+"s")
	})
}

func (k key) isIdentity() bool { return k.is(identities()) }

// wordsOf returns the words of a name in lower case: adminPassword, ADMIN_PASSWORD and admin-password
// have the same two.
func wordsOf(name string) []string {
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, string(word))
			word = nil
		}
	}
	all := []rune(name)
	for i, r := range all {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
			continue
		case unicode.IsUpper(r) && i > 0 && (!unicode.IsUpper(all[i-1]) || i+1 < len(all) && unicode.IsLower(all[i+1])):
			end()
		}
		word = append(word, unicode.ToLower(r))
	}
	end()
	// A digit after a separator belongs to the word before it.
	if n := len(words); n > 1 && strings.Trim(words[n-1], "0123456789") == "" {
		words[n-2] += words[n-1]
		words = words[:n-1]
	}
	return words
}

// marks returns texts that make a whole value a reference: variables that are substituted, templates,
// and the paths of programs that replace them.
func marks() []string { return []string{"${", "$(", "{{", "<path:", "$__file{", "$__env{"} }

// schemes returns the starts of values that refer to a store of secrets, or are encrypted.
func schemes() []string {
	return []string{"vault:", "ref+", "secretref+", "op://", "arn:", "file:", "ENC[", "ENC("}
}

// isReference reports whether a text is the place of a credential: a variable, a template, the address
// in a store, a path of a file, or a URL. It is masked or encrypted otherwise.
func isReference(text string) bool {
	contains := func(mark string) bool { return strings.Contains(text, mark) }
	starts := func(scheme string) bool { return strings.HasPrefix(text, scheme) }
	switch {
	case slices.ContainsFunc(marks(), contains), slices.ContainsFunc(schemes(), starts):
		return true
	case strings.Trim(text, "*") == "", len(text) > 1 && strings.Trim(text, "xX") == "":
		return true
	case strings.HasPrefix(text, "/"):
		return strings.Count(text, "/") > 1 && !strings.ContainsFunc(text, func(r rune) bool {
			return r != '/' && r != '.' && r != '_' && r != '-' && !isLower(r) && !unicode.IsDigit(r)
		})
	case strings.HasPrefix(text, "http://"), strings.HasPrefix(text, "https://"):
		// A URL with a password has its own form.
		return true
	case strings.HasPrefix(text, "$"):
		return strings.Trim(text[1:], "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == ""
	}
	return false
}

func isLower(r rune) bool { return r >= 'a' && r <= 'z' }

// isSetting reports whether a text is a setting and no credential: a switch such as "disabled", or a
// duration or a size such as "5m".
func isSetting(text string) bool {
	if slices.Contains(settingWords(), strings.ToLower(text)) {
		return true
	}
	rest := strings.TrimLeft(text, "0123456789.")
	return rest != text && slices.Contains([]string{"ms", "s", "m", "h", "d", "Ki", "Mi", "Gi", "%"}, rest)
}
