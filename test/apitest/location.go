// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apitest

import "strings"

// location is a path of the API in parts. Those that a path does not have are empty.
type location struct {
	// version is the path of the group and version.
	version, namespace, resource, name, subresource string
}

// locate returns the parts of a path; the zero location for a path that is none of the API.
func locate(path string) location {
	parts := strings.Split(path, "/")
	n := 3
	if strings.HasPrefix(path, "/apis/") {
		n = 4
	}
	if len(parts) <= n {
		return location{}
	}
	at, rest := location{version: strings.Join(parts[:n], "/")}, parts[n:]
	if len(rest) > 2 && rest[0] == "namespaces" {
		at.namespace, rest = rest[1], rest[2:]
	}
	for i, part := range []*string{&at.resource, &at.name, &at.subresource} {
		if i < len(rest) {
			*part = rest[i]
		}
	}
	return at
}

// object returns the path of the object.
func (l location) object() string {
	path := l.version
	if l.namespace != "" {
		path += "/namespaces/" + l.namespace
	}
	return path + "/" + l.resource + "/" + l.name
}

// contains reports whether an object is in a collection. A collection without a namespace has the
// objects of all namespaces.
func (l location) contains(object location) bool {
	return l.name == "" && l.version == object.version && l.resource == object.resource &&
		(l.namespace == "" || l.namespace == object.namespace)
}
