// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apiretry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// object holds the fields that show whether an earlier attempt has created an object.
type object struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	// Data is the data of a Secret or a ConfigMap, as encoded.
	Data map[string]json.RawMessage `json:"data"`
}

// includes reports whether a live object is the sent object: it has the sent labels, annotations
// and data. Labels and annotations name the release, the revision and, for a hook, the attempt. API
// servers and webhooks may add others.
func (sent *object) includes(live *object) bool {
	return within(sent.Metadata.Labels, live.Metadata.Labels) && within(sent.Metadata.Annotations, live.Metadata.Annotations) &&
		len(sent.Metadata.Labels)+len(sent.Metadata.Annotations) > 0 &&
		maps.EqualFunc(sent.Data, live.Data, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}

func within(some, all map[string]string) bool {
	for key, value := range some {
		if found, ok := all[key]; !ok || found != value {
			return false
		}
	}
	return true
}

// sentObject returns the object in the body of a request.
func sentObject(req *http.Request) (*object, error) {
	if req.GetBody == nil {
		return nil, fmt.Errorf("%s %s has no body", req.Method, req.URL.Path)
	}
	reader, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	defer reader.Close() //nolint:errcheck // the body is in memory
	body, err := io.ReadAll(reader)
	if err != nil {
		return nil, err
	}
	if req.Header.Get("Content-Type") == runtime.ContentTypeProtobuf {
		decoded, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		if err != nil {
			return nil, err
		}
		if body, err = json.Marshal(decoded); err != nil {
			return nil, err
		}
	}
	sent := &object{}
	return sent, json.Unmarshal(body, sent)
}

// earlierCreation returns the answer to a creation that an earlier attempt has carried out: the
// live object, in the form that the request accepts. It returns nil if the live object is another
// one.
func (t *transport) earlierCreation(req *http.Request) (*http.Response, error) {
	sent, err := sentObject(req)
	if err != nil || sent.Metadata.Name == "" {
		return nil, err
	}
	resp, err := t.get(req, sent.Metadata.Name, runtime.ContentTypeJSON)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil, err
	}
	live := &object{}
	if err := json.Unmarshal(body, live); err != nil || !sent.includes(live) {
		return nil, err
	}
	if resp, err = t.get(req, sent.Metadata.Name, req.Header.Get("Accept")); err != nil || resp.StatusCode != http.StatusOK {
		return nil, err
	}
	resp.StatusCode, resp.Status = http.StatusCreated, "201 Created"
	return resp, nil
}

// get reads the object of a creation.
func (t *transport) get(create *http.Request, name, accept string) (*http.Response, error) {
	at := *create.URL
	at.Path += "/" + url.PathEscape(name)
	at.RawQuery = ""
	req, err := http.NewRequestWithContext(create.Context(), http.MethodGet, at.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header = create.Header.Clone()
	req.Header.Del("Content-Type")
	req.Header.Set("Accept", accept)
	return t.RoundTrip(req)
}
