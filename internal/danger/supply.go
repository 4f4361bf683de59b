// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package danger

import (
	"regexp"
	"strings"

	"github.com/pintle-dev/pintle/api/v1alpha1"
)

// How firmly a reference names an image.
const (
	floating = iota
	tagged
	pinned
)

// major matches tags of a major version, such as 16, v2 or 3-alpine, which are moved with each release.
var major = regexp.MustCompile("^v?[0-9]{1,3}(-[a-z]+)*$")

// firmness returns how firmly a reference names an image.
func firmness(image string) int {
	if strings.Contains(image, "@") {
		return pinned
	}
	_, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	if !strings.ContainsAny(tag, "0123456789") || strings.HasPrefix(tag, "latest") || major.MatchString(tag) {
		return floating
	}
	return tagged
}

// pinning finds images whose content may change without another plan, and could not before.
func (w *world) pinning() {
	for _, is := range w.after.all {
		was := w.before.by[is.key].images()
		for _, c := range is.containers() {
			name, image := text(c, "name"), text(c, "image")
			before, known := was[name]
			switch now := firmness(image); {
			case image == "":
			case now == floating && (!known || firmness(before) > floating):
				w.add(v1alpha1.Supply, is, "container %s runs %s, which may be another image tomorrow", name, image)
			case known && firmness(before) == pinned && now < pinned:
				w.add(v1alpha1.Supply, is, "container %s runs %s, which is no longer pinned by a digest", name, image)
			}
		}
	}
}

// registries finds images from a registry that the release has not used before.
func (w *world) registries() {
	had := map[string]bool{}
	for _, o := range w.before.all {
		for _, image := range o.images() {
			had[registry(image)] = true
		}
	}
	if len(had) == 0 {
		return
	}
	for _, o := range w.after.all {
		uses := map[string]bool{}
		for _, image := range o.images() {
			uses[registry(image)] = true
		}
		for _, name := range sortedNew(uses, had) {
			w.add(v1alpha1.Supply, o, "its images come from another registry: %s", name)
		}
	}
}

// images returns the images of an object by container.
func (o *object) images() map[string]string {
	found := map[string]string{}
	if o == nil {
		return found
	}
	for _, c := range o.containers() {
		if image := text(c, "image"); image != "" {
			found[text(c, "name")] = image
		}
	}
	return found
}

// registry returns the host of the registry of an image.
func registry(image string) string {
	host, _, found := strings.Cut(image, "/")
	if !found || !strings.ContainsAny(host, ".:") && host != "localhost" || host == "index.docker.io" {
		return "docker.io"
	}
	return host
}
