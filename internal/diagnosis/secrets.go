// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Cut returns the last lines of a text, limited in lines and bytes.
func Cut(text string, maxLines, maxBytes int) string {
	lines := strings.Split(strings.TrimRight(text, "\r\n"), "\n")
	text = strings.Join(lines[max(0, len(lines)-maxLines):], "\n")
	if len(text) > maxBytes {
		// The cut may split a character, which is then dropped.
		text = strings.ToValidUTF8(text[len(text)-maxBytes:], "")
	}
	return text
}

// SecretNames returns the names of the Secrets that a Pod refers to, in its namespace. Names may
// repeat.
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
		names = append(names, secretNames(volume.VolumeSource)...)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// secretNames returns the names of the Secrets in a volume.
func secretNames(volume corev1.VolumeSource) []string {
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
