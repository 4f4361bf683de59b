// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

const (
	redacted = "***"
	// short is the length below which a secret is a secret only as a word of its own:
	// every log contains an "a".
	short = 4
)

// Redact returns a text without secrets, their base64 included. Of secrets of
// several lines each line is one, because a text may have been cut before it came
// here.
func Redact(text string, secrets []string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	var long []string
	for _, s := range secrets {
		for _, v := range append(strings.Split(s, "\n"), s, base64.StdEncoding.EncodeToString([]byte(s))) {
			if v = strings.TrimSpace(v); len(v) >= short {
				long = append(long, v)
			} else if v != "" {
				text = replaceWord(text, v)
			}
		}
	}
	// At one place the first that fits is replaced, so the longer go first.
	slices.SortFunc(long, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	var pairs []string
	for _, s := range slices.Compact(long) {
		pairs = append(pairs, s, redacted)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// Cut returns the last lines of a text, so many at most, and so many bytes of them.
func Cut(text string, maxLines, maxBytes int) string {
	lines := strings.Split(strings.TrimRight(text, "\r\n"), "\n")
	text = strings.Join(lines[max(0, len(lines)-maxLines):], "\n")
	if len(text) > maxBytes {
		// The cut may go through a character, of which nothing then stays.
		text = strings.ToValidUTF8(text[len(text)-maxBytes:], "")
	}
	return text
}

// replaceWord replaces a text where it is not a part of a longer word.
func replaceWord(text, word string) string {
	part := func(b byte) bool {
		return (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || (b >= '0' && b <= '9') || b == '_' || b >= 0x80
	}
	var out strings.Builder
	for {
		i := strings.Index(text, word)
		if i < 0 {
			out.WriteString(text)
			return out.String()
		}
		end := i + len(word)
		if (i > 0 && part(text[i-1])) || (end < len(text) && part(text[end])) {
			out.WriteString(text[:end])
		} else {
			out.WriteString(text[:i] + redacted)
		}
		text = text[end:]
	}
}

// SecretNames are the Secrets that a pod refers to, in its namespace. Some may be
// named more than once.
func SecretNames(spec corev1.PodSpec) []string {
	var names []string
	for _, s := range spec.ImagePullSecrets {
		names = append(names, s.Name)
	}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, from := range c.EnvFrom {
			if from.SecretRef != nil {
				names = append(names, from.SecretRef.Name)
			}
		}
		for _, env := range c.Env {
			if env.ValueFrom != nil && env.ValueFrom.SecretKeyRef != nil {
				names = append(names, env.ValueFrom.SecretKeyRef.Name)
			}
		}
	}
	for _, volume := range spec.Volumes {
		names = append(names, mounted(volume.VolumeSource)...)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// mounted are the Secrets that a volume holds.
func mounted(volume corev1.VolumeSource) []string {
	var names []string
	if volume.Secret != nil {
		names = append(names, volume.Secret.SecretName)
	}
	if volume.Projected == nil {
		return names
	}
	for _, source := range volume.Projected.Sources {
		if source.Secret != nil {
			names = append(names, source.Secret.Name)
		}
	}
	return names
}
