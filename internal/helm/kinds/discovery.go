// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"context"
	"encoding/json"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/pintle-dev/pintle/internal/apiretry"
)

// discovery requests the discovery of API groups. It does not use the aggregated discovery of the
// API server, which is updated late, and lists the former kinds of an API that is unavailable.
type discovery struct {
	ctx context.Context //nolint:containedctx // it lives as long as one decision
	api rest.Interface
}

// group returns the discovery of a group. Failures of the API server are part of the result, so
// that another version of the group can decide. It is an error if the server denies the request.
func (d discovery) group(name string) (Group, error) {
	var versions []string
	group := Group{}
	if name == "" {
		var core metav1.APIVersions
		if err := d.get(&core, "/api"); err != nil {
			return d.unknownGroup(err)
		}
		versions = core.Versions
	} else {
		var listed metav1.APIGroup
		err := d.get(&listed, "/apis", name)
		if apierrors.IsNotFound(err) {
			return group, nil
		}
		if err != nil {
			return d.unknownGroup(err)
		}
		group.Preferred = listed.PreferredVersion.Version
		for _, v := range listed.Versions {
			versions = append(versions, v.Version)
		}
	}
	for _, version := range versions {
		v, err := d.version(name, version)
		if err != nil {
			return group, err
		}
		group.Versions = append(group.Versions, v)
	}
	return group, nil
}

// unknownGroup returns a group that is unknown, or the error if it stops the action.
func (d discovery) unknownGroup(err error) (Group, error) {
	why, err := failure(err)
	return Group{Failure: why}, err
}

// failure returns the message of a failure of the API server. Other errors, such as a denial, are
// returned.
func failure(err error) (string, error) {
	if apiretry.Classify(apiretry.AnswerOf(err)) == apiretry.Transient {
		return apiretry.AnswerOf(err).Cause(), nil
	}
	return "", err
}

// version returns the discovery of one version. A version that the group lists and that does not
// exist has been added or removed a moment ago, or its server does not know it: it is unknown.
func (d discovery) version(group, name string) (Version, error) {
	path := []string{"/apis", group, name}
	if group == "" {
		path = []string{"/api", name}
	}
	var list metav1.APIResourceList
	err := d.get(&list, path...)
	if apierrors.IsNotFound(err) {
		return Version{Name: name, Failure: "the API group lists the version, but the version does not exist"}, nil
	}
	v := Version{Name: name}
	if err != nil {
		v.Failure, err = failure(err)
		return v, err
	}
	for _, r := range list.APIResources {
		if !strings.Contains(r.Name, "/") {
			v.Kinds = append(v.Kinds, r.Kind)
		}
	}
	return v, nil
}

const crdPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// acceptMetadata is the Accept header of a list of which only the metadata are needed.
const acceptMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

// listCRDs returns the CRDs of a group. Discovery has none of their kinds, or the kind in question
// would not be looked for here. If the identity may not read CRDs, there are none.
func (d discovery) listCRDs(name string, group Group) ([]CRD, error) {
	known := map[string]bool{}
	for _, v := range group.Versions {
		for _, kind := range v.Kinds {
			known[kind] = true
		}
	}
	var names metav1.PartialObjectMetadataList
	if err := d.read(&names, acceptMetadata, crdPath); apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var crds []CRD
	for i := range names.Items {
		if !strings.HasSuffix(names.Items[i].Name, "."+name) {
			continue
		}
		var crd definition
		err := d.read(&crd, runtime.ContentTypeJSON, crdPath, names.Items[i].Name)
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if kind := crd.Spec.Names.Kind; crd.Spec.Group == name && !known[kind] {
			crds = append(crds, CRD{Name: names.Items[i].Name, Kind: kind})
		}
	}
	return crds, nil
}

// definition has the fields of a CRD that are needed here.
type definition struct {
	Spec struct {
		Group string `json:"group"`
		Names struct {
			Kind string `json:"kind"`
		} `json:"names"`
	} `json:"spec"`
}

// read requests an object that the client of discovery cannot decode.
func (d discovery) read(into any, accept string, path ...string) error {
	raw, err := d.api.Get().AbsPath(path...).SetHeader("Accept", accept).Do(d.ctx).Raw()
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

func (d discovery) get(into runtime.Object, path ...string) error {
	return d.api.Get().AbsPath(path...).SetHeader("Accept", runtime.ContentTypeJSON).Do(d.ctx).Into(into)
}
