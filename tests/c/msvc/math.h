/* See string.h. */
#ifndef MSVC_MATH_H
#define MSVC_MATH_H
double fabs(double value);
double floor(double value);
double sqrt(double value);
double rint(double value);
float rintf(float value);
float roundf(float value);
double copysign(double value, double sign);
float expf(float value);
#define HUGE_VAL (1e300 * 1e300)
#define INFINITY ((float)HUGE_VAL)
#define NAN (-(float)(INFINITY * 0.0F))
#define isnan(value) ((value) != (value))
#define isfinite(value) ((value) - (value) == 0)
#define isinf(value) (!isnan(value) && !isfinite(value))
#endif
