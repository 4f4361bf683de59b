// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	fieldOwner = client.FieldOwner("pintle-harness")
	// establishTimeout is how long CRDs may take. One with an error is never established.
	establishTimeout = 10 * time.Minute
)

// ReadObjects reads all objects of all YAML files in a folder, except kustomizations.
func ReadObjects(dir string) ([]*unstructured.Unstructured, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for _, path := range paths {
		if filepath.Base(path) == "kustomization.yaml" {
			continue
		}
		objects, err := readFile(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, objects...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no objects in %s", dir)
	}
	return all, nil
}

func readFile(path string) ([]*unstructured.Unstructured, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(file, 4096)
	for {
		object := &unstructured.Unstructured{}
		switch err := decoder.Decode(object); {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, err
		case len(object.Object) > 0:
			objects = append(objects, object)
		}
	}
}

// Apply applies objects by server-side apply. Namespaced objects without a namespace get the given
// one.
func (e *Environment) Apply(ctx context.Context, namespace string, objects ...*unstructured.Unstructured) error {
	for _, object := range objects {
		name := object.GetKind() + " " + object.GetName()
		namespaced, err := e.Client.IsObjectNamespaced(object)
		if err != nil {
			return fmt.Errorf("apply %s: %w", name, err)
		}
		if namespaced && object.GetNamespace() == "" {
			object.SetNamespace(namespace)
		}
		err = e.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), fieldOwner, client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("apply %s: %w", name, err)
		}
	}
	return nil
}

// ApplyCRDs applies the CRDs in a file or folder and waits until they are served.
func (e *Environment) ApplyCRDs(ctx context.Context, path string) error {
	read := ReadObjects
	if filepath.Ext(path) == ".yaml" {
		read = readFile
	}
	objects, err := read(path)
	if err != nil {
		return err
	}
	if err := e.Apply(ctx, "", objects...); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, establishTimeout)
	defer cancel()
	for _, object := range objects {
		err := e.Until(ctx, "CustomResourceDefinition "+object.GetName()+" to be established", func() (string, bool) {
			crd := &apiextensionsv1.CustomResourceDefinition{}
			if err := e.Client.Get(ctx, client.ObjectKeyFromObject(object), crd); err != nil {
				return err.Error(), false
			}
			for _, c := range crd.Status.Conditions {
				if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
					return "", true
				}
			}
			return fmt.Sprintf("conditions %v", crd.Status.Conditions), false
		}, &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: object.GetName()}})
		if err != nil {
			return err
		}
	}
	return nil
}
