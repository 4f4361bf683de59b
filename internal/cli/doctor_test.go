// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

func TestDoctor(t *testing.T) {
	w := newWorld(t, "cluster.yaml")
	w.denied = func(user string, right authorizationv1.ResourceAttributes) bool {
		return user == "system:serviceaccount:apps:helm" && (right.Resource == "deployments" || right.Verb == "create")
	}
	w.golden("doctor", "doctor", "doctor -n finance -o json", "doctor -o xml")
}

// TestDoctorHealthy: an installation without findings ends with exit code 0.
func TestDoctorHealthy(t *testing.T) {
	w := newWorld(t, "cluster.yaml")
	w.objects = slices.DeleteFunc(w.objects, func(o client.Object) bool {
		return o.GetNamespace() == "helm-system" || o.GetNamespace() == "finance" || o.GetNamespace() == "other" || o.GetName() == "shop" || o.GetName() == "cart"
	})
	w.objects = slices.DeleteFunc(w.objects, func(o client.Object) bool { return strings.Contains(o.GetName(), ".toolkit.") })
	w.objects = append(w.objects, newWorld(t, "healthy.yaml").objects...)
	for _, o := range w.objects {
		fixArguments(o)
	}
	w.golden("doctor-healthy", "doctor", "doctor -o wide")
}

// TestDoctorWithoutDeployment: without a Deployment, as with `make run`, the report says which checks
// are left out.
func TestDoctorWithoutDeployment(t *testing.T) {
	w := newWorld(t, "cluster.yaml")
	w.objects = slices.DeleteFunc(w.objects, func(o client.Object) bool {
		_, deployment := o.(*appsv1.Deployment)
		return deployment || o.GetNamespace() == "helm-system" || strings.Contains(o.GetName(), ".toolkit.")
	})
	w.objects = append(w.objects, newWorld(t, "healthy.yaml").objects...)
	w.golden("doctor-without-deployment", "doctor", "doctor --default-service-account=helm")
}

// TestDoctorEmpty: in a cluster without anything, the findings say what to install.
func TestDoctorEmpty(t *testing.T) {
	newWorld(t, "").golden("doctor-empty", "doctor")
}

// TestDoctorForbidden: a user with few rights gets the checks that are possible.
func TestDoctorForbidden(t *testing.T) {
	w := newWorld(t, "cluster.yaml")
	for _, kind := range []string{"Deployment", "Lease", "PartialObjectMetadata", "CustomResourceDefinition", "SubjectAccessReview", "ServiceAccount"} {
		w.forbidden[kind] = true
	}
	w.golden("doctor-forbidden", "doctor")
}

// fixArguments removes the argument that Pintle does not accept.
func fixArguments(o client.Object) {
	if d, ok := o.(*appsv1.Deployment); ok && d.Name == "helm-controller" {
		args := &d.Spec.Template.Spec.Containers[0].Args
		*args = slices.DeleteFunc(*args, func(arg string) bool { return arg == "--sharding=yes" })
	}
}
