// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package faultproxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes/scheme"
)

// Verbs that are not the name of an HTTP method.
const (
	verbList  = "LIST"
	verbWatch = "WATCH"
)

// generated replaces the random part of a generated name.
const generated = "generated"

// hashed matches the end of a name that is made from a UID.
var hashed = regexp.MustCompile("-[0-9a-f]{8}$")

// Request describes a request before it reaches the API server.
type Request struct {
	// Verb is the HTTP method, or LIST or WATCH.
	Verb string
	// DryRun is set for a write that the API server only checks.
	DryRun bool
	// Group, Resource and Subresource are empty if the path is not that of a resource.
	Group, Resource, Subresource string
	// Namespace and Name are empty if the request has none. A Namespace object has both.
	Namespace, Name string
	// Path is the path of the URL.
	Path string
}

// Watch reports whether the request is answered with a stream of events.
func (r Request) Watch() bool { return r.Verb == verbWatch }

// Key identifies requests of the same kind for the same object: its verb, resource and name.
// The namespace is left out, so that keys of equal releases in different namespaces are equal.
func (r Request) Key() string {
	verb := r.Verb
	if r.DryRun {
		verb = "DRYRUN-" + verb
	}
	if r.Resource == "" {
		return verb + r.Path
	}
	key := verb + "/" + r.Resource
	if r.Subresource != "" {
		key += "." + r.Subresource
	}
	switch {
	case r.Name == "":
	case r.Resource == "pods":
		// A Job's Pod has another name each time.
		key += "/" + generated
	case r.Resource == "namespaces" && r.Name == r.Namespace:
	default:
		key += "/" + hashed.ReplaceAllString(r.Name, "-"+generated)
	}
	return key
}

// parse returns the description of r. It reads the body of a POST, which contains the object's
// name, and restores it.
func parse(r *http.Request) (Request, error) {
	query := r.URL.Query()
	request := pathOf(r.URL)
	request.Verb, request.Path, request.DryRun = r.Method, r.URL.Path, query.Has("dryRun")
	if request.Resource == "" || request.Subresource != "" {
		return request, nil
	}
	switch {
	case r.Method == http.MethodGet && (query.Get("watch") == "true" || query.Get("watch") == "1"):
		request.Verb = verbWatch
	case r.Method == http.MethodGet && request.Name == "":
		request.Verb = verbList
	}
	if selector, err := fields.ParseSelector(query.Get("fieldSelector")); err == nil && request.Name == "" {
		request.Name, _ = selector.RequiresExactMatch("metadata.name")
	}
	if r.Method != http.MethodPost {
		return request, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return request, fmt.Errorf("body of %s %s: %w", r.Method, r.URL.Path, err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	request.Name = nameIn(body)
	return request, nil
}

// pathOf returns the parts of a URL's path, which are
// /api/VERSION or /apis/GROUP/VERSION, [/namespaces/NAMESPACE], /RESOURCE[/NAME[/SUBRESOURCE]].
func pathOf(u *url.URL) Request {
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	var r Request
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		r.Group, parts = parts[1], parts[3:]
	default:
		return r
	}
	if parts[0] == "namespaces" && len(parts) > 1 {
		r.Namespace = parts[1]
		if len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
			parts = parts[2:]
		}
	}
	r.Resource = parts[0]
	if len(parts) > 1 {
		r.Name = parts[1]
	}
	if len(parts) > 2 {
		r.Subresource = strings.Join(parts[2:], "/")
	}
	return r
}

// nameIn returns the name of an object in JSON or protobuf, or the prefix of its generated name.
func nameIn(body []byte) string {
	var meta metav1.Object
	if o, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil); err == nil {
		meta, _ = apimeta.Accessor(o)
	}
	if meta == nil {
		partial := &metav1.PartialObjectMetadata{}
		if json.Unmarshal(body, partial) != nil {
			return ""
		}
		meta = partial
	}
	if meta.GetName() == "" && meta.GetGenerateName() != "" {
		return meta.GetGenerateName() + generated
	}
	return meta.GetName()
}
